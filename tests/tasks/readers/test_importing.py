"""Foreign episodes as rows: what their recordings say, and what they leave open."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from carryover.tasks.readers.episode_rows import error_kind, import_trace
from carryover.tasks.readers.import_setting import ImportSetting
from carryover.tasks.readers.importing import import_traces
from carryover.tasks.readers.layouts.authors import LAYOUT as AUTHORS_LAYOUT
from carryover.tasks.readers.reading import read_value
from carryover.tasks.readers.tally import Tally
from carryover.tasks.readers.trace import Block, OpeningMessage, Reply, Trace
from carryover.tasks.services.errors import UserError
from carryover.tasks.traces.rows import HARMLESS_ERRORS
from carryover.tasks.traces.vocabulary import FinishReason
from tests.tasks.readers.made_up_layouts import PYTHON_LAYOUTS, SHELL_LAYOUTS
from tests.tasks.readers.whole_traces import IMPORTED, KEPT_ROWS, RECORDINGS, whole_rows

MADE_UP = Path(__file__).parent / "made_up"
SETTING = ImportSetting(run_id="import", runtime_contract="persistent")


def imported(record, setting=SETTING):
    (trace,) = read_value(record, Tally(), "chat")
    return import_trace(trace, setting)


def with_results(reply):
    return reply._replace(blocks=tuple(block._replace(result="3") for block in reply.blocks), prompt_tokens=4)


def headed(names):
    """Return a message as the study's loop sends it after a block."""
    header = {"runtime": "persistent", "active_globals": [], "last_step_globals": names}
    return {"role": "user", "content": json.dumps({"observation": {"output": ""}, "runtime_state": header})}


REUSING = [
    {"role": "assistant", "content": "```\nids = [1]\n```"},
    headed(["ids"]),
    {"role": "assistant", "content": "```\nids += [2]\n```"},
    headed(["ids", "best"]),
    {"role": "assistant", "content": "```\nprint(ids)\n```"},
]
BARE = [message if message["role"] == "assistant" else {"role": "user", "content": "1"} for message in REUSING]


@pytest.mark.parametrize(
    ("contract", "messages", "names", "events"),
    [
        ("persistent", REUSING, [(), ("ids",), ("ids", "best")], ["kept", "kept", "unknown"]),
        ("stateless", REUSING, [(), (), ()], ["kept", "kept", "kept"]),
        ("persistent", BARE, [(), (), ()], ["unknown", "unknown", "unknown"]),
    ],
)
def test_names_that_a_conversation_lists_are_kept_and_others_unknown(contract, messages, names, events):
    rows = imported({"contract": contract, "messages": messages})
    assert [step.active_globals_before for step in rows.steps] == names
    assert [step.state_event for step in rows.steps] == events
    assert [step.active_globals for step in rows.steps] == [*names[1:], ()]
    live = [event.is_live_before for event in rows.name_events if event.step == 2 and event.kind == "bind"]
    assert live == ["ids" in names[1]]


def test_an_imported_id_ignores_ending_and_listed_names():
    def imported_id(**changes):
        return imported({"messages": REUSING} | changes).episode.episode_id

    assert imported_id(finish_reason="error") == imported_id()
    assert imported_id(messages=[REUSING[0], headed([]), *REUSING[2:]]) == imported_id()
    assert imported_id(messages=REUSING[2:]) != imported_id()


def test_an_imported_id_is_of_the_episode_and_not_of_the_run():
    record = {"messages": REUSING, "instance_id": "own"}
    (trace,) = read_value(record, Tally(), "chat")
    again = import_trace(trace, SETTING.model_copy(update={"run_id": "other"}))
    assert again.episode.run_id == "other"
    assert again.episode.episode_id == import_trace(trace, SETTING).episode.episode_id
    assert again.episode.instance_id == "own"
    told = replace(trace, replies=tuple(with_results(reply) for reply in trace.replies), score=1.0, place="p")
    assert import_trace(told, SETTING).episode.episode_id == again.episode.episode_id
    assert import_trace(trace, SETTING, instance_id="known").episode.instance_id == "known"
    assert import_trace(trace, SETTING, instance_id="known").episode.episode_id != again.episode.episode_id


CHANGES: tuple[dict[str, Any], ...] = (
    {},
    {"trace_id": "other"},
    {"started_at": datetime(2026, 1, 1, tzinfo=UTC)},
    {"opening": (OpeningMessage("user", "Count."),)},
    {"columns": {"value_taken": 1}},
    {"columns": {"weight_taken": 1}},
    {"columns": {"value_taken": 2}},
    {"replies": (Reply("So."),)},
    {"replies": (Reply("So.", error="no"),)},
    {"replies": (Reply("So.", (Block("x"),)),)},
    {"replies": (Reply("So.", (Block("x", "1"),)),)},
    {"replies": (Reply("So.", (Block("x", "1", "no"),)),)},
)


def test_recordings_that_differ_are_different_episodes():
    traces = [Trace(**{"trace_id": "t", "replies": ()} | changes) for changes in CHANGES]
    assert len({import_trace(trace, SETTING).episode.episode_id for trace in traces}) == len(CHANGES)


def test_a_system_note_is_told_of_replies_alone():
    note = {"role": "user", "content": '{"system_note": "no block"}'}
    rows = imported({"messages": [note, REUSING[0], note, REUSING[2]]})
    assert [turn.has_system_note for turn in rows.turns] == [False, True, False]


def test_errors_of_a_trace_are_rows():
    (rows,) = import_traces(MADE_UP / "29_import_traceback.jsonl", SETTING)
    assert rows.episode.step_count == 3
    assert rows.episode.finish_reason is FinishReason.ANSWER
    (error,) = rows.errors
    assert (error.turn, error.step, error.error_type, error.is_missing_name) == (2, 3, "NameError", True)
    assert error.message == rows.steps[2].error == "NameError: name 'n' is not defined"
    assert [(step.step, step.turn) for step in rows.steps] == [(1, 1), (2, 1), (3, 2)]


@pytest.mark.parametrize("name", {**PYTHON_LAYOUTS, **SHELL_LAYOUTS})
def test_every_layout_is_imported_with_steps_and_errors(tmp_path, name):
    layout, content = {**PYTHON_LAYOUTS, **SHELL_LAYOUTS}[name]
    (tmp_path / "recording").write_bytes(content)
    (rows,) = import_traces(tmp_path / "recording", SETTING)
    assert (rows.episode.step_count, len(rows.steps), len(rows.errors)) == (3, 3, 1)
    assert rows.errors[0].is_missing_name == (name in PYTHON_LAYOUTS)
    assert layout in rows.episode.contract_json


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        ([*REUSING, {"role": "assistant", "content": "Done."}], FinishReason.ANSWER),
        (REUSING, FinishReason.OTHER),
        ([{"role": "assistant", "content": "```\nfinish()\n```"}], FinishReason.FINISH_TOOL),
        ([{"role": "assistant", "tool_calls": [{"name": "final_answer", "arguments": {"answer": 3}}]}],
         FinishReason.ANSWER),
        ([{"role": "assistant", "tool_calls": [{"name": name, "arguments": "x"} for name in ("python", "submit")]}],
         FinishReason.ANSWER),
    ],
)  # fmt: skip
def test_an_episode_ends_as_its_last_reply_shows(messages, reason):
    assert imported({"messages": messages}).episode.finish_reason is reason


@pytest.mark.parametrize(
    ("word", "reason", "message"),
    [
        ("timeout", FinishReason.TIMEOUT, None),
        ("Submitted", FinishReason.ANSWER, None),
        ("LimitsExceeded", FinishReason.MAX_STEPS, None),
        ("stop", FinishReason.OTHER, None),
        ("bored", FinishReason.OTHER, "finish reason 'bored'"),
    ],
)
def test_endings_of_others_go_by_our_names(word, reason, message):
    episode = imported({"messages": REUSING, "finish_reason": word}).episode
    assert (episode.finish_reason, episode.error_message) == (reason, message)


def test_a_tool_call_without_source_is_a_reply_without_block():
    call = {"role": "assistant", "tool_calls": [{"id": "1"}]}
    rows = imported({"messages": [call, {"role": "tool", "content": [{"type": "text", "text": "1"}]}]})
    assert (rows.steps, rows.turns[1].observation) == ((), "1")


def test_a_foreign_conversation_shows_its_outputs_as_it_can():
    messages = [
        {"role": "user", "content": "Count."},
        {"role": "assistant", "content": "```\nprint(1)\n```"},
        {"role": "tool", "content": "1"},
        {"role": "assistant", "content": "```\nx\n```"},
        {"role": "user", "content": '{"output": "", "error": "NameError: x"}'},
        {"role": "assistant", "content": "Done."},
    ]
    rows = imported({"contract": "reset", "messages": messages})
    assert (rows.episode.instance_id, rows.episode.runtime_contract) == ("chat-1", "stateless")
    assert [(step.code, step.output, step.error) for step in rows.steps] == [
        ("print(1)", "1", None),
        ("x", "", "NameError: x"),
    ]


def test_a_tool_call_is_read_with_all_its_answers():
    call = {"function": {"name": "python", "arguments": '{"code": "n = 1"}'}}
    messages = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "one "},
        {"role": "tool", "content": "two"},
    ]
    rows = imported({"messages": messages})
    assert (rows.steps[0].code, rows.steps[0].output) == ("n = 1", "one two")
    assert rows.turns[1].observation == "one two"


def test_several_rollouts_of_an_instance_are_replicates(tmp_path):
    path = tmp_path / "rollouts.jsonl"
    records = [{"instance_id": "one", "score": score, "messages": REUSING} for score in (0.0, 1.0)]
    path.write_text("\n".join(map(json.dumps, records)))
    assert [rows.episode.replicate for rows in import_traces(path, SETTING)] == [0, 1]


def test_an_invalid_value_is_counted_and_the_rest_imported(tmp_path):
    path = tmp_path / "a.jsonl"
    declared = {"episode": json.dumps({"replicate": "x"}), "declaration": "{}", "messages": REUSING}
    path.write_text(f"{json.dumps(declared)}\n{json.dumps({'messages': REUSING})}")
    tally = Tally()
    assert len(list(import_traces(path, SETTING, tally=tally))) == 1
    assert tally.unread == {"an episode with an invalid value": 1}
    assert tally.sentences() == [
        "1 unread: an episode with an invalid value (first: a-1: replicate 'x': Input should be a valid integer, "
        "unable to parse string as an integer)"
    ]
    assert tally.trace_count == 1
    assert len(list(import_traces(path, SETTING))) == 1


@pytest.mark.parametrize(
    ("setting", "layout", "family"),
    [
        ({}, "chat", "foreign"),
        ({"scale": "paper"}, "chat", "knapsack"),
        ({}, AUTHORS_LAYOUT, "knapsack"),
        ({"scale": "paper", "family": "boxes"}, AUTHORS_LAYOUT, "boxes"),
    ],
)
def test_a_trace_without_a_family_gets_the_settings_or_its_layouts(setting, layout, family):
    (trace,) = read_value({"messages": REUSING}, Tally(), "chat")
    chosen = SETTING.model_copy(update=setting)
    rows = import_trace(replace(trace, layout=layout), chosen)
    assert rows.episode.family == family


@pytest.mark.parametrize("name", IMPORTED)
def test_an_episode_is_imported_with_all_its_rows(tmp_path, name):
    path = tmp_path / "recording"
    path.write_bytes(RECORDINGS[name])
    assert whole_rows(path) == json.loads(KEPT_ROWS.read_text(encoding="utf-8"))[name]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("ToolRuntimeException: no item", "tool"),
        ("ToolInvocationException: item_id", "tool"),
        ("NameError: name 'x' is not defined", "interpreter"),
        (f"Error: {HARMLESS_ERRORS[1]} here", "cap"),
    ],
)
def test_an_errors_origin_is_told_by_its_phrases(error, kind):
    assert error_kind(error) == kind
    messages = [REUSING[0], {"role": "user", "content": json.dumps({"output": "", "error": error})}]
    (row,) = imported({"messages": messages}).errors
    assert (row.kind, row.is_missing_name) == (kind, "NameError" in error)


@pytest.mark.parametrize(
    "error", ["NameError", "UnboundLocalError: x", "The variable `x` is not defined.", "Name x Is Not Defined"]
)
def test_a_missing_name_is_told_by_any_phrase(error):
    messages = [REUSING[0], {"role": "user", "content": json.dumps({"output": "", "error": error})}]
    (row,) = imported({"messages": messages}).errors
    assert row.is_missing_name


def test_a_failed_call_of_the_model_ends_an_episode_with_an_error():
    events = [{"type": "ErrorEvent", "data": {"error": "down"}}]
    document = {"started_at": "2026-01-01T00:00:00", "summary": {"task": "t"}, "events": events}
    (trace,) = read_value(document, Tally(), "chat")
    rows = import_trace(replace(trace, finish_reason=None), SETTING)
    (error,) = rows.errors
    assert (rows.episode.finish_reason, error.kind, error.step) == (FinishReason.ERROR, "model", None)


@pytest.mark.parametrize("header", ["1", '{"runtime_state": 1}', '{"runtime_state": {"last_step_globals": "x"}}', "{"])
def test_a_header_that_lists_no_names_tells_none(header):
    observation = header if "runtime_state" in header else f'{header}"runtime_state"'
    rows = imported({"messages": [REUSING[0], {"role": "user", "content": observation}, REUSING[2]]})
    assert [step.state_event for step in rows.steps] == ["unknown", "unknown"]


def test_an_error_of_a_reply_without_a_block_is_the_protocols_or_the_models():
    replies = (Reply("Hm.", error="no block"), Reply("", error="down", is_model_error=True))
    rows = import_trace(Trace(trace_id="t", replies=replies), SETTING)
    assert [(error.turn, error.step, error.kind, error.message) for error in rows.errors] == [
        (1, None, "protocol", "no block"),
        (2, None, "model", "down"),
    ]


def test_a_task_of_two_models_of_the_authors_is_refused(tmp_path):
    events = [{"type": "StepEvent", "data": {"assistant_text": "Go.", "code": "x", "interpreter_result": None}}]
    document = {"started_at": "2026-01-01T00:00:00", "summary": {"task": "t"}, "events": events}
    for model in ("a", "b"):
        (tmp_path / model).mkdir()
        (tmp_path / model / "knapsack-7.trace.json").write_text(json.dumps(document))
    with pytest.raises(UserError, match=r"a/knapsack-7.* and .*b/knapsack-7.* are the same task .*one model's folder"):
        list(import_traces(tmp_path, SETTING))
