import functools
import hashlib
import json
import re
from itertools import product
from statistics import mean

import pytest

from carryover.tasks.knapsack.knapsack_spec import KNAPSACK
from carryover.tasks.knapsack.sampling import sample_instance
from carryover.tasks.knapsack.teachers.density import write_density_reply
from carryover.tasks.knapsack.teachers.habits import FIXED, FIXED_ON_EASY, VARIED, Habits, draw_habits
from carryover.tasks.knapsack.teachers.open import open_teacher, open_varied_teacher
from carryover.tasks.knapsack.teachers.small import write_small_reply
from carryover.tasks.traces.events import parse_block
from tests.tasks.knapsack.teachers.playing import play_conversation

CONTRACTS = ("persistent", "stateless")
FIXED_TEXTS = {
    "small": "a526ad157dceb50c",
    "easy": "61592994a62c5dce",
}
"""Digests of what the fixed teachers write: equal teachers of earlier versions made the recorded rows."""


def make_instances(bucket, count):
    return [sample_instance(KNAPSACK[bucket], seed) for seed in range(count)]


def play(contract, instance, habits):
    """Return the replies' blocks, the calls per block and the outcome."""
    is_small = instance.spec.bucket.startswith("small")
    writer = write_small_reply if is_small else write_density_reply
    write_reply = functools.partial(writer, habits=habits)
    if instance.spec.bucket == "small_costly":
        write_reply = functools.partial(write_reply, is_careful=True)
    prompt_set = "compact" if is_small else "full"
    messages, calls, outcome = play_conversation(write_reply, contract, instance, prompt_set)
    replies = [each.content for each in messages if each.role == "assistant"]
    blocks = [reply.partition("```python\n")[2].removesuffix("\n```") for reply in replies]
    return blocks, calls, outcome


@pytest.mark.parametrize(("bucket", "fixed"), [("small", FIXED), ("easy", FIXED_ON_EASY)])
def test_fixed_teachers_write_what_they_always_wrote(bucket, fixed):
    digest = hashlib.sha256()
    for contract, instance in product(CONTRACTS, make_instances(bucket, 8)):
        digest.update(json.dumps(play(contract, instance, fixed)[0]).encode())
    assert digest.hexdigest()[:16] == FIXED_TEXTS[bucket]


def test_an_instance_draws_the_same_habits_again():
    assert draw_habits(VARIED, "a") == draw_habits(VARIED, "a")
    assert len({draw_habits(VARIED, str(number)).model_dump_json() for number in range(50)}) > 40


def test_every_level_is_drawn_about_equally_often():
    drawn = [draw_habits(VARIED, str(number)).model_dump() for number in range(1500)]
    for name, levels in VARIED.items():
        for level in levels:
            assert mean(habits[name] == level for habits in drawn) == pytest.approx(1 / len(levels), abs=0.05)


def test_a_fixed_habit_leaves_the_draws_of_the_others():
    for number in range(20):
        drawn = draw_habits(VARIED, str(number))
        held = draw_habits({**VARIED, "taken_per_turn": (3,)}, str(number))
        assert held == drawn.model_copy(update={"taken_per_turn": 3})


def test_unknown_habits_and_levels_are_refused():
    with pytest.raises(ValueError, match="unknown habits mood; choose from inspected_per_turn, taken_per_turn"):
        draw_habits({"mood": ("good",)}, "a")
    with pytest.raises(ValueError, match="form"):
        draw_habits({"form": ("poem",)}, "a")


@pytest.mark.parametrize("bucket", ["small", "small_large", "small_costly", "easy", "hard"])
def test_contracts_take_equal_items_whatever_the_habits(bucket):
    fixed = FIXED if bucket.startswith("small") else FIXED_ON_EASY
    for instance in make_instances(bucket, 40 if bucket.startswith("small") else 15):
        habits = draw_habits(VARIED, instance.instance_id, fixed)
        blocks_p, calls_p, outcome_p = play("persistent", instance, habits)
        blocks_s, calls_s, outcome_s = play("stateless", instance, habits)
        assert outcome_p == outcome_s
        assert max(calls_p + calls_s) <= KNAPSACK[bucket].tool_call_cap
        assert len(blocks_s) - len(blocks_p) in ((0,) if bucket.startswith("small") else (0, 1))
        if bucket != "hard":  # its budgets are larger than the turns of a plan, item by item
            assert len(blocks_s) <= 40


@pytest.mark.parametrize("bucket", ["small", "easy"])
def test_every_level_of_a_habit_changes_what_is_written(bucket):
    (instance,) = make_instances(bucket, 1)
    fixed = FIXED if bucket == "small" else FIXED_ON_EASY
    plain = fixed.model_copy(update={"form": "functions", "shown": "changes"})
    for contract, (name, levels) in product(CONTRACTS, VARIED.items()):
        texts = [str(play(contract, instance, plain.model_copy(update={name: level}))[0]) for level in levels]
        assert len(set(texts)) == len(levels), (contract, name)


@pytest.mark.parametrize(("bucket", "form"), [*product(["small", "easy"], ["functions", "inline"])])
def test_both_contracts_share_form_and_what_they_print(bucket, form):
    (instance,) = make_instances(bucket, 1)
    fixed = FIXED if bucket == "small" else FIXED_ON_EASY
    habits = fixed.model_copy(update={"form": form, "shown": "changes"})
    for contract in CONTRACTS:
        blocks, *_ = play(contract, instance, habits)
        assert any("def " in block for block in blocks) == (form == "functions")
        assert all(parse_block(block, ()).is_parsed for block in blocks)


@pytest.mark.parametrize("bucket", ["small", "easy"])
def test_stateless_blocks_bind_all_that_they_read_in_any_habit(bucket):
    tools = ("list_items", "inspect", "take_item", "finish")
    for instance in make_instances(bucket, 12):
        fixed = FIXED if bucket == "small" else FIXED_ON_EASY
        blocks, *_ = play("stateless", instance, draw_habits(VARIED, instance.instance_id, fixed))
        for block in blocks:
            assert block == "finish()" or parse_block(block, tools).import_count == 1


@pytest.mark.parametrize("bucket", ["small", "easy"])
def test_later_persistent_blocks_import_nothing(bucket):
    fixed = FIXED if bucket == "small" else FIXED_ON_EASY
    for instance in make_instances(bucket, 12):
        blocks, *_ = play("persistent", instance, draw_habits(VARIED, instance.instance_id, fixed))
        assert [parse_block(block, ()).import_count for block in blocks] == [1] + [0] * (len(blocks) - 1)


def test_the_order_of_exploration_decides_what_is_inspected():
    instances = make_instances("small", 10)
    scores = {
        order: [
            play("stateless", instance, FIXED.model_copy(update={"order": order}))[2].taken_item_ids
            for instance in instances
        ]
        for order in VARIED["order"]
    }
    assert scores["listed"] != scores["reversed"] != scores["scattered"]


def test_more_items_per_turn_make_fewer_blocks():
    (instance,) = make_instances("small", 1)
    counts = [
        len(
            play("stateless", instance, FIXED.model_copy(update={"inspected_per_turn": each, "taken_per_turn": each}))[
                0
            ]
        )
        for each in (1, 2, 3, "all")
    ]
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] == 2


def test_finish_stands_in_a_block_of_its_own_where_drawn():
    for bucket, fixed in (("small", FIXED), ("easy", FIXED_ON_EASY)):
        (instance,) = make_instances(bucket, 1)
        for contract in CONTRACTS:
            blocks, *_ = play(contract, instance, fixed.model_copy(update={"ending": "own_block"}))
            assert blocks[-1] == "finish()"
            assert not re.search(r"^\s*finish\(\)", "\n".join(blocks[:-1]), re.MULTILINE)


def test_a_varied_teacher_opens_the_habits_of_an_instance():
    teacher = open_varied_teacher("small", "persistent", VARIED)
    assert teacher.open_for("a").habits == draw_habits(VARIED, "a").model_dump()
    assert open_teacher("small", "persistent").habits is None
    assert open_varied_teacher("easy", "persistent", {}).open_for("a").habits == FIXED_ON_EASY.model_dump()


def test_contracts_with_injection_have_no_varied_teacher():
    with pytest.raises(ValueError, match="no teacher of contract 'injected' varies; choose from persistent, stateless"):
        open_varied_teacher("small", "injected", VARIED)


def test_defaults_are_the_fixed_teacher_of_small_buckets():
    assert Habits() == FIXED
    assert FIXED.uses_functions("persistent")
    assert not FIXED.uses_functions("stateless")
