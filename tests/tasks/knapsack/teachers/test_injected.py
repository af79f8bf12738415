"""The contracts that inject the environment's knowledge: it is there in every block, whatever becomes of names."""

import asyncio
import json
from collections.abc import Iterator

import pytest

from carryover.tasks.agent.episode import PlannedEpisode, run_episode
from carryover.tasks.agent.episode_spec import EpisodeSpec, PromptSet
from carryover.tasks.agent.faults import FaultSpec
from carryover.tasks.agent.recorder import RecordedEpisode
from carryover.tasks.agent.scripted import ScriptedModel
from carryover.tasks.knapsack.environment import KNOWN_NAMES, TOOL_NAMES
from carryover.tasks.knapsack.knapsack_spec import KNAPSACK
from carryover.tasks.knapsack.sampling import sample_instance
from carryover.tasks.knapsack.teachers.injected import write_injected_reply
from carryover.tasks.knapsack.teachers.open import open_teacher
from carryover.tasks.lint.lint import lint_trace
from carryover.tasks.readers.trace import Block, Reply, Trace
from carryover.tasks.runtime.backend import Runtime
from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.traces.vocabulary import FinishReason
from tests.tasks.agent.playing import make_context, make_scripted_condition

INJECTED = ["injected", "injected+persistent"]


@pytest.fixture(scope="module")
def with_pandas() -> Iterator[Runtime]:
    """A worker that has pandas imported: a block of a fresh process would import it each time."""
    runtime = open_runtime(RuntimeSpec(preload=("collections", "itertools", "json", "math", "re", "pandas", "pyarrow")))
    yield runtime
    runtime.close()


def play(runtime, bucket: str, contract: str, seed: int, teacher=None, **fields) -> RecordedEpisode:
    condition = make_scripted_condition(contract, bucket=bucket)
    prompt_set: PromptSet = "full" if bucket in ("easy", "hard") else "compact"
    return asyncio.run(
        run_episode(
            make_context(
                runtime,
                teacher or open_teacher(bucket, contract),
                condition,
                spec=EpisodeSpec(prompt_set=prompt_set, **fields),
            ),
            PlannedEpisode(sample_instance(KNAPSACK[bucket], seed), 0),
        )
    )


@pytest.mark.parametrize("contract", INJECTED)
@pytest.mark.parametrize(("bucket", "seed"), [("easy", 0), ("small", 1), ("small_costly", 2), ("small_costly", 3)])
def test_teacher_scores_what_the_others_score_on_the_same_instance(with_pandas, contract, bucket, seed):
    recorded = play(with_pandas, bucket, contract, seed)
    other = play(with_pandas, bucket, "persistent", seed)
    assert recorded.episode.finish_reason == FinishReason.FINISH_TOOL
    assert (recorded.episode.score, recorded.episode.taken_count) == (other.episode.score, other.episode.taken_count)
    assert recorded.episode.is_contract_verified
    assert not [error for error in recorded.errors if not error.is_caught]


def test_user_names_end_with_the_block_and_the_knowledge_stays(with_pandas):
    injected, persistent = (play(with_pandas, "small", contract, 1) for contract in INJECTED)
    assert {step.active_globals for step in injected.steps} == {()}
    assert {"look", "grab"} <= set(persistent.steps[-1].active_globals)
    names = {event.name for event in injected.runtime_events if event.kind == "inject"}
    assert names == set(KNOWN_NAMES)
    assert json.loads(injected.episode.contract_json)["contract"]["binds"] == "environment"


def test_lint_finds_the_idiom_of_each_contract(with_pandas):
    for contract, idiom in zip(INJECTED, ("stateless_safe", "needs_persistence"), strict=True):
        recorded = play(with_pandas, "small", contract, 1)
        replies = (Reply("", tuple(Block(step.code) for step in recorded.steps)),)
        found = lint_trace(
            Trace(trace_id="trace", declared_contract=contract, replies=replies), tools=(*TOOL_NAMES, *KNOWN_NAMES)
        )
        assert (found.idiom, found.contradiction, found.early_names) == (idiom, None, ())
        assert all(step.is_parsed for step in recorded.steps)


def test_frame_holds_what_inspections_revealed_and_nothing_else(with_pandas):
    looking = [
        "i = json.loads(list_items())[0]\nfacts = inspect(i)\nprint(len(seen), budget)",
        "print(seen.to_json(orient='index'), taken, refused, budget > 0, room > 0)",
        "finish()",
    ]

    def write(messages, _seed) -> str:
        return f"```python\nimport json\n{looking[sum(message.role == 'assistant' for message in messages)]}\n```"

    recorded = play(with_pandas, "small", "injected", 4, ScriptedModel("scripted", write))
    instance = sample_instance(KNAPSACK["small"], 4)
    item = min(instance.items, key=lambda item: item.item_id)
    assert recorded.steps[0].output == f"0 {instance.inspection_budget}\n"
    facts = {item.item_id: {"class": item.item_class, "value": item.value, "weight": item.weight}}
    assert recorded.steps[1].output == f"{json.dumps(facts, separators=(',', ':'))} [] [] True True\n"


@pytest.mark.parametrize("contract", INJECTED)
def test_fault_is_repaired(with_pandas, contract):
    recorded = play(with_pandas, "small", contract, 1, faults=FaultSpec(rate=0.6, storm_share=0.0))
    assert recorded.episode.finish_reason == FinishReason.FINISH_TOOL
    assert recorded.episode.score == play(with_pandas, "small", contract, 1).episode.score


def test_contracts_of_the_study_declare_what_they_declared(with_pandas):
    recorded = play(with_pandas, "small", "stateless", 1)
    assert json.loads(recorded.episode.contract_json)["contract"] == {
        "name": "stateless",
        "version": 1,
        "lifetime": "block",
        "scope": "process",
    }


def test_no_other_contract_is_played():
    with pytest.raises(ValueError, match="choose from injected, injected"):
        write_injected_reply("persistent", [], 0, is_capped=False)
