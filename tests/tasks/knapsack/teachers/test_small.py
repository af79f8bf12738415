import functools
import json
import math
import re
from pathlib import Path
from statistics import mean

import pytest

from carryover.tasks.agent.faults import FailingTools, FaultInjector, FaultSpec
from carryover.tasks.agent.protocol import Message
from carryover.tasks.knapsack.environment import KnapsackEnvironment
from carryover.tasks.knapsack.knapsack_spec import KNAPSACK
from carryover.tasks.knapsack.sampling import sample_instance
from carryover.tasks.knapsack.teachers.habits import FIXED, INSPECTED_PER_TURN
from carryover.tasks.knapsack.teachers.small import read_turns, write_small_reply
from carryover.tasks.knapsack.teachers.small_blocks import SmallBlocks
from carryover.tasks.plans.seeds import TRAIN_SEED
from carryover.tasks.traces.events import parse_block
from tests.flattening import flat
from tests.tasks.knapsack.teachers.playing import Namespace

OPENING = [Message(role="system", content="Play."), Message(role="user", content="Go.")]


FINDINGS = " ".join((Path(__file__).parents[4] / "sql" / "results" / "settings.md").read_text(encoding="utf-8").split())
write_careful_reply = functools.partial(write_small_reply, is_careful=True)
WRITERS = {"small_costly": write_careful_reply}


def play(contract, bucket="small", seed=0, faults=None, *, write_reply=None, calls_per_block=None, **options):
    """Return the replies, the errors by step, the injected faults by step and the outcome."""
    instance = sample_instance(KNAPSACK[bucket], seed)
    environment = KnapsackEnvironment(instance)
    failing = FailingTools(environment.tools)
    namespace = Namespace(contract, failing.tools)
    injector = FaultInjector(faults or FaultSpec(rate=0.0, storm_share=0.0), instance.instance_id, failing)
    messages, errors, injected = list(OPENING), [], []
    write_reply = write_reply or WRITERS.get(bucket, write_small_reply)
    while not environment.is_over and len(errors) < 60:
        reply = write_reply(contract, messages, seed=len(errors), **options)
        code = reply.partition("```python\n")[2].removesuffix("\n```")
        injector.before_step(len(errors) + 1, code, namespace.alive(), namespace.drop_name)
        result = namespace.run(code)
        injected.append(injector.after_step(result))
        errors.append(result.error and result.error.type)
        observation = {"output": result.output} | ({"error": result.error.message} if result.error else {})
        messages += [Message(role="assistant", content=reply), Message(role="user", content=json.dumps(observation))]
    if calls_per_block is not None:
        calls_per_block += namespace.calls_per_block
    return messages, errors, injected, environment.outcome()


@pytest.mark.parametrize("bucket", ["small", "small_large", "small_costly"])
def test_contracts_take_equal_items_in_equally_many_turns(bucket):
    for seed in range(40):
        _, errors_p, _, outcome_p = play("persistent", bucket, seed)
        _, errors_s, _, outcome_s = play("stateless", bucket, seed)
        assert errors_p == errors_s == [None] * len(errors_p)
        assert outcome_p == outcome_s


@pytest.mark.parametrize("contract", ["persistent", "stateless"])
def test_retrying_refused_classes_costs_eleven_points(contract):
    careful, careless = (
        100 * mean(play(contract, "small_costly", TRAIN_SEED + seed, write_reply=write)[3].score for seed in range(400))
        for write in (write_careful_reply, write_small_reply)
    )
    assert round(careful - careless) == 11
    assert f"scores {careless:.1f} where the careful one scores {careful:.1f}" in FINDINGS


@pytest.mark.parametrize("bucket", ["small", "small_costly"])
def test_equal_faults_cost_both_contracts_the_same_turns(bucket):
    fault_count = 0
    for seed in range(40):
        _, errors_p, injected_p, outcome_p = play("persistent", bucket, seed, faults=FaultSpec())
        _, errors_s, injected_s, outcome_s = play("stateless", bucket, seed, faults=FaultSpec())
        assert [fault is None for fault in injected_p] == [fault is None for fault in injected_s]
        assert len(errors_p) == len(errors_s)
        assert outcome_p == outcome_s
        fault_count += sum(fault is not None for fault in injected_p)
    assert fault_count > 20


def test_faults_are_lost_bindings_or_tool_failures_by_contract():
    kinds = {}
    for contract in ("persistent", "stateless"):
        played = [play(contract, seed=seed, faults=FaultSpec())[2] for seed in range(40)]
        kinds[contract] = {fault.partition(":")[0] for fault in flat(played) if fault}
    assert kinds == {"persistent": {"drop", "fail"}, "stateless": {"fail"}}  # its first block reads no name either


def test_no_step_fails_that_met_no_fault():
    for contract in ("persistent", "stateless"):
        for seed in range(20):
            _, errors, injected, _ = play(contract, seed=seed, faults=FaultSpec())
            assert [error is None for error in errors] == [fault is None for fault in injected]


def test_an_error_is_followed_by_a_block_that_needs_nothing():
    messages = [*OPENING, Message(role="assistant", content="I look.\n```python\nlook(3)\n```")]
    messages.append(Message(role="user", content=json.dumps({"output": "", "error": "NameError: look"})))
    assert SmallBlocks("persistent").repair() in write_small_reply("persistent", messages, seed=0)
    assert SmallBlocks("stateless").take() in write_small_reply("stateless", messages, seed=0)


def test_persistent_blocks_after_the_first_read_names_and_import_nothing():
    parsed = parse_block(SmallBlocks("persistent").take(), ("finish",))
    assert parsed.import_count == 0
    assert next(event.name for event in parsed.events if event.kind == "read") == "grab"


def test_stateless_blocks_import_and_bind_all_that_they_read():
    for block in (SmallBlocks("stateless").look(2), SmallBlocks("stateless").take()):
        parsed = parse_block(block, ("list_items", "inspect", "take_item", "finish"))
        assert parsed.import_count == 1
        bound = set()
        for event in parsed.events:
            assert event.kind != "read" or event.name in bound
            bound |= {event.name} if event.kind == "bind" else set()


@pytest.mark.parametrize("bucket", ["small", "small_large"])
@pytest.mark.parametrize("contract", ["persistent", "stateless"])
def test_blocks_hold_no_literals_but_step_and_portion_counts(contract, bucket):
    portions = math.ceil(KNAPSACK[bucket].item_count[1] / INSPECTED_PER_TURN)
    for seed in range(20):
        messages, *_ = play(contract, bucket, seed, FaultSpec())
        written = " ".join(message.content for message in messages if message.role == "assistant")
        numbers = {int(number) for number in re.findall(r"\d+", written)}
        assert "item_" not in written
        assert numbers <= set(range(portions + 1))


@pytest.mark.parametrize("bucket", ["small", "small_large", "small_costly"])
@pytest.mark.parametrize("contract", ["persistent", "stateless"])
def test_block_calls_stay_within_the_bucket_cap(contract, bucket):
    calls = []
    for seed in range(20):
        play(contract, bucket, seed, FaultSpec(rate=0.1, storm_share=0.4), calls_per_block=calls)
    assert 3 < max(calls) <= KNAPSACK[bucket].tool_call_cap


def test_the_table_is_printed_or_only_its_size():
    with_table, *_ = play("stateless")
    without, *_ = play("stateless", habits=FIXED.model_copy(update={"shown": "size"}))
    assert "item_" in with_table[3].content
    assert "item_" not in without[3].content


def test_only_answered_replies_are_turns():
    reply = Message(role="assistant", content="Look.\n```python\nlook()\n```")
    answer = Message(role="user", content=json.dumps({"output": "seen"}))
    tool = Message(role="tool", content="seen")
    turns = read_turns([*OPENING, reply, tool, reply, reply, answer, reply])
    assert [(turn.code, turn.output, turn.has_failed) for turn in turns] == [("look()", "seen", False)]


def test_turns_are_read_from_wrapped_observations_as_well():
    reply = Message(role="assistant", content="I look.\n```python\nlook(3)\n```")
    wrapped = {"observation": {"output": "more 3\n", "error": None}, "runtime_state": {}}
    turns = read_turns([*OPENING, reply, Message(role="user", content=json.dumps(wrapped))])
    assert turns == [("look(3)", "more 3\n", False)]


def test_a_contract_without_a_teacher_is_refused_by_name():
    with pytest.raises(ValueError, match="'injected'; choose from persistent, stateless"):
        write_small_reply("injected", OPENING, seed=0)
