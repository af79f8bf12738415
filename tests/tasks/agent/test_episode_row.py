"""An episode's row and its messages, whole: played on an interpreter that only notes what it was given."""

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest

from carryover.tasks.agent.episode import PlannedEpisode, episode_limits, run_episode
from carryover.tasks.agent.episode_spec import EpisodeSpec
from carryover.tasks.agent.machine import Limits
from carryover.tasks.agent.prompt_format import Feedback
from carryover.tasks.agent.scripted import ScriptedModel, VariedModel
from carryover.tasks.agent.study_speaker import ContractViolationError
from carryover.tasks.runtime.contract import named_contract
from carryover.tasks.runtime.results import BlockError, BlockResult, Violation
from carryover.tasks.services.source_digest import source_digest
from carryover.tasks.traces.vocabulary import FinishReason
from tests.tasks.agent.playing import INSTANCE, Model, block, make_condition, make_context, open_study_wire

FINISH = block("finish()")
NOT_TOLD = {"contract_json", "started_at", "wall_seconds"}
FAILED = BlockResult(
    "out\n", "2", BlockError("interpreter", "NameError", "NameError: y"), ("x",), ("x", "y"), notices=("rolled back",)
)


class NotedInterpreter:
    """Gives results from a list; `finish()` calls the tool."""

    def __init__(self, contract, tools, results):
        self.events = [(0, "reset", None, None)]
        self.contract = contract
        self.is_sound = True
        self.injected = []
        self.is_closed = False
        self._tools = tools
        self._results = results

    def verify_contract(self):
        return self.is_sound

    def inject_all(self, values):
        self.injected.append(dict(values))

    def run_block(self, code):
        if code == "finish()":
            self._tools["finish"]()
            return BlockResult(seconds=0.25)
        return self._results.pop(0)

    def close(self):
        self.is_closed = True
        self.events = []


class NotedRuntime:
    """Opens one interpreter and notes how."""

    backend = "jupyter"
    sandbox_level = "walls"

    def __init__(self, *results):
        self._results = list(results)
        self.is_sound = True

    def open_interpreter(self, contract, tools, **options):
        self.options = {"contract": contract, "tools": [*tools], **options}
        self.opened = NotedInterpreter(contract, tools, self._results)
        self.opened.is_sound = self.is_sound
        return self.opened


def play(runtime: Any, client, contract="persistent", *, condition=None, planned=(1, 2), spec=None):
    context = make_context(runtime, client, condition or make_condition(contract), spec=spec or EpisodeSpec())
    return asyncio.run(run_episode(context, PlannedEpisode(INSTANCE, *planned)))


def test_an_episodes_row_tells_its_condition_its_rules_and_its_end():
    runtime = NotedRuntime()
    spec = EpisodeSpec(prompt_set="compact", max_turns=7, max_tokens=900, tool_call_cap=None)
    episode = play(runtime, Model(FINISH), spec=spec).episode
    told = episode.model_dump(mode="json", exclude=NOT_TOLD | {"episode_id"})
    assert told == {
        "run_id": "run", "plan_digest": "plan", "stage_digest": "stage", "scale": "smoke", "purpose": "evaluation",
        "variant": "main", "base": "teacher", "model_name": "model", "model_digest": None, "train_contract": None,
        "runtime_contract": "persistent", "shown_contract": "persistent", "visibility": "declared", "header": "names",
        "bucket": "easy", "split": "evaluation", "is_out_of_distribution": False, "training_seed": None,
        "instance_id": INSTANCE.instance_id, "replicate": 1, "attempt": 2, "agent": "study",
        "prompt_set": "compact", "tool_call_cap": None, "max_turns": 7, "max_tokens": 900, "concurrency": 1,
        "backend": "jupyter", "sandbox_level": "walls", "token_source": "server", "family": "knapsack",
        "finish_reason": "finish_tool", "error_message": None, "score": 0.0, "is_solved": False,
        "value_taken": 0, "weight_taken": 0, "taken_count": 0, "inspected_count": 0,
        "metrics_json": '{"inspected_count":0,"taken_count":0,"value_taken":0,"weight_taken":0}',
        "turn_count": 1, "step_count": 1, "call_site_count": 1, "executed_call_count": 0, "injected_fault_count": 0,
        "prompt_tokens": 100, "cached_prompt_tokens": 40, "completion_tokens": 10, "total_tokens": 110,
        "training_tokens": None, "model_seconds": 0.5, "execution_seconds": 0.25, "is_contract_verified": True,
        "habits_json": None,
    }  # fmt: skip
    assert runtime.options == {
        "contract": named_contract("persistent"), "tools": ["inspect", "take_item", "list_items", "finish"],
        "instance_id": INSTANCE.instance_id, "salt": "stage/1", "tool_call_cap": None,
    }  # fmt: skip
    assert runtime.opened.is_closed


def test_a_declaration_tells_the_rules_of_the_episode():
    spec = EpisodeSpec(stateless_scope="namespace")
    declared = json.loads(play(NotedRuntime(), Model(FINISH), "stateless", spec=spec).episode.contract_json)
    assert len(declared.pop("prompt_digest")) == 16
    played_by = ("carryover.tasks.agent", "carryover.tasks.runtime", "carryover.tasks.knapsack.family")
    assert declared.pop("code_digest") == source_digest(played_by)[:16]
    assert declared == {
        "contract": {"name": "stateless", "version": 1, "lifetime": "block", "scope": "namespace"},
        "shown_contract": "stateless", "visibility": "declared", "header": "names", "backend": "jupyter",
        "sandbox_level": "walls", "max_turns": 40, "tool_call_cap": 25, "timeout_seconds": 3600.0,
        "prompt_set": "full", "temperature": 0.2, "max_completion_tokens": 12_288, "faults": None,
        "varies_wording": False,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("visibility", "train_contract", "shown"),
    [
        ("declared", "stateless", "persistent"),
        ("as_trained", "stateless", "stateless"),
        ("as_trained", None, "persistent"),
    ],
)
def test_a_model_is_shown_the_contract_in_force_or_that_of_its_training(visibility, train_contract, shown):
    condition = make_condition("persistent", visibility=visibility, train_contract=train_contract)
    assert condition.shown_contract == shown


def test_limits_are_those_of_the_rules():
    spec = EpisodeSpec(max_turns=7, max_tokens=900, timeout_seconds=30.0)
    assert episode_limits(spec) == Limits(replies=7, replies_spent=FinishReason.MAX_TURNS, tokens=900, seconds=30.0)


@pytest.mark.parametrize(("habits", "told"), [({"loop": "for"}, '{"loop":"for"}'), (None, None)])
def test_a_varied_teacher_plays_with_the_instances_habits(habits, told):
    opened = []

    def open_for(instance_id):
        opened.append(instance_id)
        return ScriptedModel("scripted", lambda messages, seed: FINISH, len, habits)

    episode = play(NotedRuntime(), VariedModel("scripted", open_for)).episode
    assert (episode.habits_json, episode.token_source) == (told, "training_tokenizer")
    assert (episode.prompt_tokens, episode.completion_tokens) == (5, 1)
    assert opened == [INSTANCE.instance_id]


def test_a_block_is_told_with_its_end_and_with_dropped_ones():
    model = Model(f"{block('y')}\n{block('z')}", FINISH)
    recorded = play(NotedRuntime(FAILED), model)
    header = {"runtime": "persistent", "active_globals": ["x"], "last_step_globals": ["x", "y"]}
    note = "The message held 2 code blocks. Only the first was run; the others were dropped."
    feedback = Feedback(False, "out\n", "2", "NameError: y", ("rolled back",), system_note=note)
    assert recorded.turns[1].observation == open_study_wire("full").observation(feedback, header)
    assert model.requests[1].messages[-2].content == block("y")
    assert (recorded.turns[1].has_system_note, recorded.turns[1].block_count) == (True, 2)


@pytest.mark.parametrize(
    ("shown", "runtime", "header", "told"),
    [
        (
            "stateless",
            "persistent",
            "names",
            {"runtime": "reset", "active_globals": [], "last_step_globals": ["x", "y"]},
        ),
        (
            "persistent",
            "stateless",
            "names",
            {"runtime": "persistent", "active_globals": ["x", "y"], "last_step_globals": ["x", "y"]},
        ),
        ("stateless", "stateless", "none", {"runtime": "reset"}),
    ],
)
def test_the_header_shows_names_as_the_shown_contract_has_them(shown, runtime, header, told):
    condition = make_condition(runtime, visibility="as_trained", train_contract=shown, header=header)
    recorded = play(NotedRuntime(FAILED), Model(block("y"), FINISH), condition=condition)
    assert json.loads(recorded.turns[1].observation or "")["runtime_state"] == told


def test_what_happened_to_an_interpreter_is_recorded_before_it_ends():
    (event,) = play(NotedRuntime(), Model("No block.", FINISH), spec=EpisodeSpec(max_turns=1)).runtime_events
    assert (event.step, event.kind) == (0, "reset")


def test_a_block_that_never_ends_counts_as_none():
    recorded = play(NotedRuntime(), Model("```python\nx = 1", FINISH))
    told = json.loads(recorded.turns[1].observation or "")["observation"]
    assert told["error"] == "No code block found. Answer with a short reflection and exactly one fenced Python block."
    assert [error.error_type for error in recorded.errors] == ["NoCodeBlock"]


def test_what_the_policy_forbids_is_told_by_place():
    error = BlockError("interpreter", "PolicyViolation", "forbidden", (Violation("import", "os", 2),))
    recorded = play(NotedRuntime(BlockResult(error=error)), Model(block("import os"), FINISH))
    told = json.loads(recorded.turns[1].observation or "")["observation"]
    assert told["violations"] == [{"rule": "import", "name": "os", "line": 2}]


def test_an_injecting_contract_binds_before_every_block():
    runtime = NotedRuntime(BlockResult())
    play(runtime, Model(block("x = 1"), FINISH), "injected")
    assert [[*bound] for bound in runtime.opened.injected] == [[*runtime.opened.injected[0]]] * 2
    plain = NotedRuntime(BlockResult())
    play(plain, Model(block("x = 1"), FINISH))
    assert plain.opened.injected == []


def test_a_contract_that_is_broken_stops_the_run():
    runtime = NotedRuntime()
    runtime.is_sound = False
    with pytest.raises(ContractViolationError) as stopped:
        play(runtime, Model(FINISH), "stateless")
    assert str(stopped.value) == (
        f"instance {INSTANCE.instance_id}, turn 1: bindings do not live as contract 'stateless' promises "
        "(lifetime 'block'); the episode is left out and the run stops"
    )
    assert runtime.opened.is_closed


def test_a_runtime_that_cannot_open_ends_the_episode():
    def refuse(*_arguments, **_options):
        raise OSError("no processes left")

    runtime = SimpleNamespace(backend="jupyter", sandbox_level="walls", open_interpreter=refuse)
    episode = play(runtime, Model(FINISH)).episode
    assert episode.finish_reason == FinishReason.ERROR
    assert episode.error_message == "the runtime failed: OSError: no processes left"
