import asyncio
import json
import math
import statistics
from typing import NamedTuple

import pytest

from carryover.tasks.agent.episode import PlannedEpisode, run_episode
from carryover.tasks.agent.episode_spec import EpisodeSpec
from carryover.tasks.agent.faults import FaultSpec
from carryover.tasks.agent.protocol import Message
from carryover.tasks.knapsack.knapsack_spec import KNAPSACK
from carryover.tasks.knapsack.sampling import sample_instance, solve
from carryover.tasks.knapsack.teachers.density import read_known, read_task, write_density_reply
from carryover.tasks.knapsack.teachers.habits import FIXED_ON_EASY
from carryover.tasks.knapsack.teachers.open import open_teacher
from carryover.tasks.knapsack.teachers.small import PlayedTurn
from carryover.tasks.traces.vocabulary import FinishReason
from tests.flattening import flat
from tests.tasks.agent.playing import make_context, make_scripted_condition, opening_messages

CONTRACTS = ["persistent", "stateless"]


class Reference(NamedTuple):
    """Mean scores of an independent implementation that inspects as many random items as the budget allows."""

    greedy: float
    """Inspected items packed by density."""
    exact: float
    """The same items packed as well as can be."""
    instance_count: int
    """Instances that it was measured on."""


REFERENCE = {"easy": Reference(0.873, 0.886, 1500), "hard": Reference(0.834, 0.838, 400)}


def make_instances(bucket, count):
    return [sample_instance(KNAPSACK[bucket], seed) for seed in range(count)]


def play(runtime, bucket, contract, instances, *, habits=None, **fields):
    condition = make_scripted_condition(contract, bucket=bucket)
    teacher = open_teacher(bucket, contract, habits=habits)

    async def play_all():
        places = asyncio.Semaphore(4)

        async def play_one(instance):
            async with places:
                return await run_episode(
                    make_context(runtime, teacher, condition, spec=EpisodeSpec(**fields)),
                    PlannedEpisode(instance),
                )

        return await asyncio.gather(*(play_one(instance) for instance in instances))

    return asyncio.run(play_all())


def inspected_items(instance):
    """Return the allowed ones of the first items of the list, as many as may be inspected; ids are random."""
    inspected = instance.items[: instance.inspection_budget]
    return [item for item in inspected if item.item_class in instance.allowed_classes]


def pack_greedily(instance):
    """Return the score of the policy without an agent: of what is inspected the densest items that fit."""
    load = value = 0
    for item in sorted(inspected_items(instance), key=lambda item: item.value / item.weight, reverse=True):
        if load + item.weight <= instance.capacity:
            load, value = load + item.weight, value + item.value
    return value / instance.optimum.value


def pack_exactly(instance):
    return solve(inspected_items(instance), instance.capacity).value / instance.optimum.value


def assert_greedy(recorded, instances):
    """Assert that every episode took what greedy packing takes, and that its agent ended it."""
    expected = {instance.instance_id: pack_greedily(instance) for instance in instances}
    assert {row.episode.instance_id: row.episode.score for row in recorded} == pytest.approx(expected)
    assert {row.episode.finish_reason for row in recorded} == {FinishReason.FINISH_TOOL}


@pytest.fixture(scope="module")
def easy(runtime):
    """The same 40 Easy instances, played under each contract."""
    instances = make_instances("easy", 40)
    return {contract: play(runtime, "easy", contract, instances) for contract in CONTRACTS}


@pytest.mark.parametrize("bucket", REFERENCE)
def test_greedy_packing_scores_what_the_reference_did(bucket):
    """As many instances as the reference had, and both are samples: within three standard errors of their difference.

    What holds exactly: on Hard 0.845 with a standard error of 0.008 is within three of it of the reference's 0.834; on
    Easy 0.888 with one of 0.004 is 3.7 of it above 0.873, which is 2.6 standard errors of the difference. Over 7,500
    instances with four orders of inspection each the policy comes to 0.885, so the reference's one draw lies 2.8
    standard errors below. Exact packing of the same items lies as far above its column, so it is not the policy that
    differs, but the draw, or something in the instances that 1,500 of them do not show: their size, capacity, budget
    and the share that may be inspected whole are the reference's.
    """
    reference = REFERENCE[bucket]
    instances = make_instances(bucket, reference.instance_count)
    greedy = [pack_greedily(instance) for instance in instances]
    gaps = [pack_exactly(instance) - score for instance, score in zip(instances, greedy, strict=True)]
    root = math.sqrt(2 / reference.instance_count)
    greedy_error, gap_error = statistics.stdev(greedy) * root, statistics.stdev(gaps) * root
    rounding = 0.001  # two columns of three digits
    mean = statistics.mean(greedy)
    distance = abs(mean - reference.greedy)
    print(f"{bucket}: {mean:.3f}, {distance / greedy_error:.1f} standard errors ({greedy_error:.4f}) away")
    assert distance <= 3 * greedy_error
    assert abs(statistics.mean(gaps) - (reference.exact - reference.greedy)) <= 3 * gap_error + rounding


@pytest.mark.parametrize("contract", CONTRACTS)
def test_the_teacher_packs_easy_instances_greedily(easy, contract):
    assert_greedy(easy[contract], make_instances("easy", 40))
    assert not [error for error in flat(recorded.errors for recorded in easy[contract]) if not error.is_caught]


@pytest.mark.parametrize("contract", CONTRACTS)
def test_the_teacher_packs_hard_instances_greedily(runtime, contract):
    instances = make_instances("hard", 12)
    assert_greedy(play(runtime, "hard", contract, instances), instances)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("contract", CONTRACTS)
@pytest.mark.parametrize("bucket", REFERENCE)
def test_teacher_packs_as_many_instances_as_the_reference(runtime, bucket, contract):
    instances = make_instances(bucket, REFERENCE[bucket].instance_count)
    assert_greedy(play(runtime, bucket, contract, instances), instances)


def test_both_contracts_take_the_same_items(easy):
    pairs = zip(*(easy[contract] for contract in CONTRACTS), strict=True)

    assert all(a.episode.score == b.episode.score for a, b in pairs)


@pytest.mark.parametrize("contract", CONTRACTS)
def test_the_cap_forces_turns_and_never_binds(runtime, contract):
    instance = make_instances("hard", 1)[0]
    by_cap = {cap: play(runtime, "hard", contract, [instance], tool_call_cap=cap)[0] for cap in (10, 25, None)}

    assert by_cap[10].episode.step_count > by_cap[25].episode.step_count > by_cap[None].episode.step_count == 2
    assert len({recorded.episode.score for recorded in by_cap.values()}) == 1
    for cap in (10, 25):
        assert max(step.executed_call_count for step in by_cap[cap].steps) <= cap


@pytest.mark.parametrize("contract", CONTRACTS)
def test_the_whole_budget_is_inspected(easy, contract):
    budgets = {instance.instance_id: instance.inspection_budget for instance in make_instances("easy", 40)}

    assert {row.episode.instance_id: row.episode.inspected_count for row in easy[contract]} == budgets


def test_only_the_persistent_teacher_reuses_names(runtime):
    instance = make_instances("hard", 1)[0]
    (persistent,) = play(runtime, "hard", "persistent", [instance])
    (stateless,) = play(runtime, "hard", "stateless", [instance])

    assert sum(step.import_count for step in persistent.steps) == 1
    assert [step.import_count for step in stateless.steps] == [1] * len(stateless.steps)
    assert persistent.steps[1].code == "inspect_more(25)"
    assert "def inspect_more" in persistent.steps[0].code


@pytest.mark.parametrize("contract", CONTRACTS)
def test_repair_of_an_injected_fault_keeps_the_score(runtime, easy, contract):
    struck = play(
        runtime,
        "easy",
        contract,
        make_instances("easy", 8),
        faults=FaultSpec(rate=0.6, storm_share=0.0, maximum=3),
    )

    assert sum(recorded.episode.injected_fault_count for recorded in struck) > 5
    assert [recorded.episode.score for recorded in struck] == [calm.episode.score for calm in easy[contract][:8]]
    assert all(error.is_injected for error in flat(recorded.errors for recorded in struck) if not error.is_caught)


def test_fewer_inspections_per_turn_make_more_turns(runtime):
    instance = make_instances("easy", 1)[0]

    habits = FIXED_ON_EASY.model_copy(update={"inspected_per_turn": 6})
    (recorded,) = play(runtime, "easy", "persistent", [instance], habits=habits)

    assert recorded.steps[0].executed_call_count == 7
    assert recorded.episode.step_count == math.ceil(instance.inspection_budget / 6) + 1


def test_the_task_is_read_from_the_conversation():
    instance = make_instances("easy", 1)[0]
    messages = opening_messages("full", instance, "persistent")

    assert read_task(messages) == (instance.capacity, instance.inspection_budget, 25)
    assert read_task(opening_messages("full", instance, "persistent", cap=None)).cap is None


def test_what_is_known_is_read_from_printed_lines():
    messages = opening_messages("full", make_instances("easy", 1)[0], "stateless")
    lines = [
        {"new": {"item_a": [4, 40, "A"]}, "inspected": 1},
        {"new": {"item_b": [5, 50, "B"]}, "inspected": 2},
        {"taken": ["item_b"], "refused": ["A"], "load": 5},
    ]

    known = read_known(read_task(messages), [PlayedTurn("", json.dumps(line) + "\n", False) for line in lines])

    assert known.table == {"item_a": [4, 40, "A"], "item_b": [5, 50, "B"]}
    assert (known.taken, known.refused, known.load) == (["item_b"], ["A"], 5)


def test_a_conversation_without_the_task_is_refused():
    with pytest.raises(ValueError, match="does not open with the task in the full prompt set"):
        write_density_reply("persistent", [Message(role="user", content="Hello.")], seed=1)


def test_an_unknown_contract_is_refused():
    with pytest.raises(ValueError, match="no density teacher plays contract 'eternal'"):
        write_density_reply("eternal", [], seed=1)
