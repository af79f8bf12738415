"""The rows that a recorder makes of an episode's events, whole."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

from carryover.tasks.agent.events import Acted, Asked, Compacted, Observed, Refusal, Replied, Unanswered
from carryover.tasks.agent.protocol import Completion, FunctionCall, Message, ModelError
from carryover.tasks.agent.recorder import EpisodeRecorder
from carryover.tasks.agent.reply import read_reply
from carryover.tasks.runtime.results import BlockError, BlockResult, ToolCall, Violation
from carryover.tasks.traces.events import name_event_rows, parse_block
from carryover.tasks.traces.rows import EpisodeRow
from carryover.tasks.traces.vocabulary import ErrorKind
from tests.storage.conftest import build_row

IDS = {"run_id": "run", "episode_id": "episode"}
BLOCK = "```python\nlook(x)\n```"
CALLS = (ToolCall("look", "[1]", "2", None, None, False, 0.5), ToolCall("look", "[2]", "3", None, None, False, 0.5))


class FollowedInterpreter:
    """An interpreter of which only the events and the number of steps are asked for."""

    def __init__(self, *events):
        self.events = list(events)

    def journal(self):
        return SimpleNamespace(step_count=3)


def finished(recorder):
    """Return the episode; what the recorder does not count has a plain value."""
    plain = build_row(EpisodeRow, **IDS)
    counted = {*recorder.counts, *IDS, "is_contract_verified"}
    return recorder.finish(plain.model_dump(exclude=counted))


def told(rows: list[Any]):
    """Return rows without the ids, which are all the same."""
    assert all(row.run_id == "run" and row.episode_id == "episode" for row in rows)
    return [row.model_dump(mode="json", exclude=set(IDS)) for row in rows]


def completion(text, **fields):
    spent = {"prompt_tokens": 100, "cached_prompt_tokens": 40, "completion_tokens": 10, "model_seconds": 0.5}
    return Completion(text, **{"finish_reason": "stop", **spent, **fields})


def turn(number, text, observation, **fields):
    spent = {"prompt_tokens": 100, "cached_prompt_tokens": 40, "completion_tokens": 10, "model_seconds": 0.5}
    plain = {
        "turn": number, "assistant_text": text, "observation": observation, "block_count": 0, "has_system_note": False,
        "model_finish_reason": "stop", "decoding_seed": 6 + number, "active_globals": [], "last_step_globals": [],
        "is_replayed": False,
    }  # fmt: skip
    return {**plain, **spent, **fields}


@pytest.fixture
def recorder():
    return EpisodeRecorder("run", "episode", ("look",))


def replied(recorder, text, number, **fields):
    recorder.watch(Replied(read_reply(text), completion(text, **fields), 6 + number))


def test_a_turn_holds_its_reply_and_what_followed(recorder):
    recorder.record_opening([Message(role="user", content="Péck.")])
    replied(recorder, BLOCK, 1, is_replayed=True)
    result = BlockResult(active_globals=("x",), last_step_globals=("x", "y"))
    recorder.watch(Observed("Done.", Acted("look(x)", result, is_verified=True), has_note=True))
    replied(recorder, "Go on.", 2, finish_reason="length")
    recorder.watch(Asked("And?"))
    replied(recorder, "", 3, tool_calls=(FunctionCall("c", "look", "[1]"),))
    replied(recorder, "So:", 4, tool_calls=(FunctionCall("c", "look", "[1]"),))
    episode = finished(recorder)
    opening = json.dumps([Message(role="user", content="Péck.").model_dump()], ensure_ascii=False)
    unspent = dict.fromkeys(("prompt_tokens", "cached_prompt_tokens", "completion_tokens"), 0) | {"model_seconds": 0.0}
    names = {"active_globals": ["x"], "last_step_globals": ["x", "y"]}
    assert told(episode.turns) == [
        turn(0, "", opening, model_finish_reason="", decoding_seed=None, **unspent),
        turn(1, BLOCK, "Done.", block_count=1, has_system_note=True, is_replayed=True, **names),
        turn(2, "Go on.", "And?", model_finish_reason="length", **names),
        turn(3, '[["look", "[1]"]]', None, **names),
        turn(4, 'So:\n[["look", "[1]"]]', None, **names),
    ]
    counts = {name: getattr(episode.episode, name) for name in recorder.counts}
    assert counts == {
        "turn_count": 4, "step_count": 1, "call_site_count": 1, "executed_call_count": 0, "injected_fault_count": 0,
        "prompt_tokens": 400, "cached_prompt_tokens": 160, "completion_tokens": 40, "model_seconds": 2.0,
        "execution_seconds": 0.0,
    }  # fmt: skip
    assert episode.rows.keys() == {
        "episodes", "turns", "steps", "name_events", "tool_calls", "errors", "runtime_events",
    }  # fmt: skip
    assert (episode.rows["episodes"], episode.rows["turns"]) == ([episode.episode], episode.turns)


def test_a_step_holds_its_block_its_calls_and_its_end(recorder):
    replied(recorder, BLOCK, 1)
    error = BlockError("interpreter", "NameError", "NameError: name 'y' is not defined")
    failed = BlockResult(
        "1\n", "2", error, ("x",), ("x", "z"), CALLS, state_event="rolled_back", state_hash="h", seconds=1.5
    )
    recorder.watch(Observed("Failed.", Acted("import os\nlook(x)\n", failed, is_verified=True)))
    recorder.watch(Observed("Read.", Acted("x = (", BlockResult(seconds=0.5), False, "fail:look", ("x",))))
    episode = finished(recorder)
    first = {
        "step": 1, "turn": 1, "code": "import os\nlook(x)\n", "output": "1\n", "result": "2",
        "error": error.message, "error_kind": "interpreter", "error_type": "NameError", "is_parsed": True,
        "import_count": 1, "call_site_count": 1, "executed_call_count": 2, "active_globals_before": [],
        "active_globals": ["x"], "last_step_globals": ["x", "z"], "state_event": "rolled_back", "state_hash": "h",
        "injected_fault": None, "execution_seconds": 1.5,
    }  # fmt: skip
    second = {
        "step": 2, "turn": 1, "code": "x = (", "output": "", "result": None, "error": None, "error_kind": None,
        "error_type": None, "is_parsed": False, "import_count": 0, "call_site_count": 0, "executed_call_count": 0,
        "active_globals_before": [], "active_globals": [], "last_step_globals": [], "state_event": "kept",
        "state_hash": None, "injected_fault": "fail:look", "execution_seconds": 0.5,
    }  # fmt: skip
    assert told(episode.steps) == [first, second]
    assert told(episode.tool_calls) == [
        {"step": 1, "call": number, "is_injected": False, **call._asdict()} for number, call in enumerate(CALLS, 1)
    ]
    assert told(episode.errors) == [
        {
            "turn": 1, "error_index": 0, "step": 1, "kind": "interpreter", "error_type": "NameError",
            "message": error.message, "is_caught": False, "is_injected": False, "is_missing_name": True,
            "is_injected_missing_name": False,
        }
    ]  # fmt: skip
    row = episode.episode
    assert (row.step_count, row.executed_call_count, row.injected_fault_count, row.execution_seconds) == (2, 2, 1, 2.0)
    assert not row.is_contract_verified
    parsed = parse_block("import os\nlook(x)\n", ("look",))
    assert episode.name_events == name_event_rows(parsed, **IDS, step=1, active_globals_before=())


@pytest.mark.parametrize(("verified", "is_verified"), [([], False), ([True, True], True), ([True, False], False)])
def test_an_episode_is_verified_where_every_step_was(recorder, verified, is_verified):
    for each in verified:
        recorder.watch(Observed("", Acted("x = 1", BlockResult(), each)))
    assert finished(recorder).episode.is_contract_verified is is_verified


def test_what_a_model_or_a_reply_failed_of_is_an_error_of_its_turn(recorder):
    replied(recorder, "Hm.", 1)
    recorder.watch(Observed("Write one.", refusal=Refusal(ErrorKind.PROTOCOL, "NoCodeBlock", "no block")))
    recorder.watch(Unanswered(TimeoutError(), 0.25))
    recorder.watch(Unanswered(ModelError("gone"), 0.5))
    episode = finished(recorder)
    plain = {"step": None, "is_caught": False, "is_injected": False}
    missing = {"is_missing_name": False, "is_injected_missing_name": False}
    assert told(episode.errors) == [
        {"turn": 1, "error_index": 0, "kind": "protocol", "error_type": "NoCodeBlock", "message": "no block"}
        | plain
        | missing,
        {"turn": 2, "error_index": 0, "kind": "model", "error_type": "ModelError", "message": "gone"} | plain | missing,
    ]
    assert episode.episode.model_seconds == 0.5 + 0.25 + 0.5


def test_errors_are_numbered_within_their_turn(recorder):
    replied(recorder, BLOCK, 1)
    violations = (Violation("import", "os", 2), Violation("call", "eval", 3))
    refused = BlockResult(error=BlockError("interpreter", "PolicyViolation", "forbidden", violations))
    for _ in range(2):
        recorder.watch(Observed("", Acted("import os", refused, is_verified=True)))
    replied(recorder, BLOCK, 2)
    recorder.watch(Observed("", Acted("import os", refused, is_verified=True)))
    episode = finished(recorder)
    assert [(error.turn, error.error_index) for error in episode.errors] == [(1, 0), (1, 1), (2, 0)]
    events = [
        (event.sequence, event.step, event.kind, event.name, event.detail_json) for event in episode.runtime_events
    ]
    assert events[:2] == [
        (0, 1, "policy_violation", "os", '{"rule": "import", "line": 2}'),
        (1, 1, "policy_violation", "eval", '{"rule": "call", "line": 3}'),
    ]
    assert [event[:2] for event in events[2:]] == [(2, 2), (3, 2), (4, 3), (5, 3)]


def test_events_before_an_interpreter_is_followed_are_skipped(recorder):
    interpreter: Any = FollowedInterpreter((0, "reset", None, None), (1, "drop", "x", None))
    recorder.follow(interpreter, skips=1)
    recorder.record_runtime_events()
    interpreter.events.append((2, "rollback", None, {"reason": "time"}))
    recorder.watch(Compacted(90, 10, 2, is_summarized=True, prompt_tokens=5, completion_tokens=1))
    compacted = {
        "tokens_before": 90, "tokens_after": 10, "removed_output_count": 2, "is_summarized": True, "prompt_tokens": 5,
        "completion_tokens": 1,
    }  # fmt: skip
    assert told(finished(recorder).runtime_events) == [
        {"sequence": 0, "step": 1, "kind": "drop", "name": "x", "detail_json": None},
        {"sequence": 1, "step": 3, "kind": "compact", "name": None, "detail_json": json.dumps(compacted)},
        {"sequence": 2, "step": 2, "kind": "rollback", "name": None, "detail_json": '{"reason": "time"}'},
    ]


def test_a_name_that_was_dropped_is_not_alive_before_the_block(recorder):
    kept = BlockResult(active_globals=("x", "y"), last_step_globals=("x", "y"))
    recorder.watch(Observed("", Acted("x = y = 1", kept, is_verified=True)))
    recorder.watch(
        Observed("", Acted("print(x)", kept, is_verified=True, injected_fault="drop:x", dropped_names=("x",)))
    )
    recorder.watch(Observed("", Acted("x", kept, is_verified=True)))
    assert [step.active_globals_before for step in finished(recorder).steps] == [(), ("y",), ("x", "y")]
