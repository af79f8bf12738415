"""Every format's whole document of one small trace.

The expected documents lie in `whole/`, and were read against the rows of `made_trace.py`.
"""

import json
from importlib.metadata import version
from pathlib import Path

import pytest

from carryover.tasks.interchange.atif import atif_document
from carryover.tasks.interchange.authors import authors_documents, summarise_results, write_authors
from carryover.tasks.interchange.chat import chat_record
from carryover.tasks.interchange.inspect_log import inspect_log, write_inspect
from carryover.tasks.interchange.openinference import export_request
from carryover.tasks.traces.vocabulary import FinishReason
from tests.tasks.interchange.made_trace import OPENING, made_trace, make_step

WHOLE = Path(__file__).with_name("whole")
NOON = 1_772_366_400
"""The start of the episode, in seconds."""


def authors_files(trace):
    documents = authors_documents(trace)
    return {**documents._asdict(), "summary": summarise_results([documents])}


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("atif", atif_document),
        ("chat", chat_record),
        ("authors", authors_files),
        ("inspect", lambda trace: inspect_log([trace], trace.folder)),
    ],
)
def test_a_trace_is_one_document(name, write):
    expected = (WHOLE / f"{name}.json").read_text().replace("VERSION", version("carryover"))
    assert json.dumps(write(made_trace()), indent=1) + "\n" == expected


def plain(attributes):
    """Return attributes by key, each as its kind and value."""
    return {each["key"]: next(iter(each["value"].items())) for each in attributes}


def called(tokens, reply, messages):
    told = {
        "openinference.span.kind": "LLM",
        "llm.model_name": "persistent-0",
        "output.value": reply,
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": reply,
    }
    for number, message in enumerate(messages):
        told |= {f"llm.input_messages.{number}.message.{key}": value for key, value in message.items()}
    prompt, completion, cached = tokens
    counts = {
        "prompt": prompt, "completion": completion, "total": prompt + completion, "prompt_details.cache_read": cached,
    }  # fmt: skip
    counted = {f"llm.token_count.{key}": ("intValue", str(value)) for key, value in counts.items()}
    return {key: ("stringValue", value) for key, value in told.items()} | counted


def ran(code, output):
    told = {
        "openinference.span.kind": "TOOL", "tool.name": "python", "input.value": code, "input.mime_type": "text/plain",
        "output.value": output,
    }  # fmt: skip
    return {key: ("stringValue", value) for key, value in told.items()}


def test_a_trace_is_spans_of_agent_calls_and_blocks():
    trace = made_trace()
    ((resource,),) = export_request(trace).values()
    names = {"service.name": ("stringValue", "carryover"), "openinference.project.name": ("stringValue", "carryover")}
    assert plain(resource["resource"]["attributes"]) == names
    ((scope,),) = [resource["scopeSpans"]]
    assert scope["scope"] == {"name": "carryover"}
    agent, *others = scope["spans"]

    held = plain(agent["attributes"])
    assert json.loads(held.pop("metadata")[1]) == {
        "contract": {"train": "persistent", "runtime": "stateless", "shown": "stateless"}, "instance_id": "i-1",
        "score": 0.75, "finish_reason": "finish_tool", "declaration": {"contract": {"name": "stateless"}},
    }  # fmt: skip
    told = {"openinference.span.kind": "AGENT", "session.id": "run-1", "agent.name": "carryover"}
    assert held == {key: ("stringValue", value) for key, value in told.items()}

    first, second, third = (turn.assistant_text for turn in trace.turns[1:])
    history = [
        *OPENING,
        {"role": "assistant", "content": first},
        {"role": "user", "content": "NameError: look"},
        {"role": "assistant", "content": second},
        {"role": "user", "content": "Write a block."},
    ]
    expected = [
        ("episode knapsack-0001", 0, 20, None),
        ("persistent-0", 0, 2, called((100, 10, 50), first, history[:3])),
        ("python", 2, 2.5, ran("look", "NameError: look")),
        ("persistent-0", 2.5, 4.5, called((200, 20, 100), second, history[:5])),
        ("persistent-0", 4.5, 6.5, called((300, 30, 150), third, history)),
        ("python", 6.5, 7, ran("x = 1", '{"result": null, "output": "done\\n", "error": null}')),
        ("python", 7, 7.5, ran("x", '{"result": "1", "output": "", "error": null}')),
    ]
    for span, (name, start, end, attributes) in zip(scope["spans"], expected, strict=True):
        times = [(int(span[key]) - NOON * 10**9) / 1e9 for key in ("startTimeUnixNano", "endTimeUnixNano")]
        assert (span["name"], times, span["kind"]) == (name, [start, end], 1)
        assert attributes is None or plain(span["attributes"]) == attributes
    failed = {"code": 2, "message": "NameError: look"}
    assert [span["status"] for span in others] == [{"code": 1}, failed, *[{"code": 1}] * 4]
    assert {span["traceId"] for span in scope["spans"]} == {agent["traceId"]}
    assert {span["parentSpanId"] for span in others} == {agent["spanId"]}
    ids = [span["spanId"] for span in scope["spans"]]
    assert len(set(ids)) == len(ids)
    assert {len(each) for each in ids} == {16}
    assert len(agent["traceId"]) == 32
    assert "parentSpanId" not in agent


@pytest.mark.parametrize("message", ["no answer", None])
def test_an_error_ends_a_log_and_an_authors_trace(message):
    trace = made_trace()
    ended = {"finish_reason": FinishReason.ERROR, "error_message": message, "score": None}
    trace = trace._replace(episode=trace.episode.model_copy(update=ended))
    (sample,) = inspect_log([trace], trace.folder)["samples"]
    told = message or "error"
    assert sample["error"] == {"message": told, "traceback": told, "traceback_ansi": told}
    assert sample["scores"] == {}

    documents = authors_documents(trace)
    assert (documents.result["status"], documents.result["error"]) == ("error", message)
    assert "result" not in documents.result
    last = documents.trace["events"][-2]
    is_told = last == {"type": "ErrorEvent", "data": {"error": message}, "timestamp": documents.trace["finished_at"]}
    assert is_told is (message is not None)


def test_each_of_several_blocks_has_its_own_outcome_in_a_log():
    steps = [
        make_step(2, 3, "a", output="printed", result="1", error="KeyError: 1"),
        make_step(3, 3, "b", output="printed", result="1"),
        make_step(4, 3, "c", result="1"),
        make_step(5, 3, "d"),
    ]
    trace = made_trace()._replace(steps=tuple(steps))
    (sample,) = inspect_log([trace], trace.folder)["samples"]
    told = [
        '{"result": "1", "output": "printed", "error": "KeyError: 1"}',
        '{"result": "1", "output": "printed", "error": null}',
        '{"result": "1", "output": "", "error": null}',
        '{"result": null, "output": "", "error": null}',
    ]
    assert [each["content"] for each in sample["messages"] if each["role"] == "tool"] == told
    assert [event["result"] for event in sample["events"]] == told
    assert [event.get("error") for event in sample["events"]] == [
        {"type": "unknown", "message": "KeyError: 1"},
        *[None] * 3,
    ]


def test_user_messages_before_the_first_reply_are_the_task_of_an_authors_trace():
    trace = made_trace()
    opening = json.dumps([*OPENING, {"role": "user", "content": "Begin."}])
    first = trace.turns[0].model_copy(update={"observation": opening})
    documents = authors_documents(trace._replace(turns=(first, *trace.turns[1:])))
    assert documents.trace["summary"]["task"] == "Fill the knapsack.\n\nBegin."
    assert documents.trace["events"][0]["data"] == {"task": "Fill the knapsack.\n\nBegin."}


def test_a_timeout_has_no_finish_event_in_an_authors_trace():
    trace = made_trace()
    trace = trace._replace(episode=trace.episode.model_copy(update={"finish_reason": FinishReason.TIMEOUT}))
    documents = authors_documents(trace)
    assert documents.trace["summary"]["finish_reason"] is None
    assert "FinishEvent" not in [event["type"] for event in documents.trace["events"]]
    assert documents.result["status"] == "timeout"


def test_files_of_a_condition_lie_beside_their_summary(tmp_path):
    first = made_trace()
    second = first._replace(
        instance=None,
        episode=first.episode.model_copy(update={"episode_id": "e-2", "score": 0.25, "wall_seconds": 40.0}),
    )
    paths = write_authors([first, second], tmp_path)
    folder = tmp_path / first.folder
    names = ["knapsack-i-1", "knapsack-knapsack-0001"]
    files = sorted([*(f"{name}{ending}" for name in names for ending in (".json", ".trace.json")), "summary.json"])
    assert sorted(path.name for path in folder.iterdir()) == files
    assert paths == [folder / f"{name}.trace.json" for name in reversed(names)]
    assert json.loads(paths[0].read_text()) == authors_documents(first).trace
    assert json.loads((folder / f"{names[1]}.json").read_text()) == authors_documents(first).result
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["metrics"]["score"] == {"mean": 0.5, "median": 0.5, "min": 0.25, "max": 0.75}
    assert summary["metrics"]["capacity"] == {"mean": 9, "median": 9, "min": 9, "max": 9}
    assert (summary["average_runtime"], summary["num_tasks_executed"]) == (30.0, 2)


def test_cells_are_logs_in_the_order_of_their_instances(tmp_path):
    first = made_trace()
    other = first._replace(episode=first.episode.model_copy(update={"runtime_contract": "persistent"}))
    second = first._replace(instance=None, episode=first.episode.model_copy(update={"episode_id": "e-2"}))
    assert write_inspect([first, other, second], tmp_path) == 3
    folder = tmp_path / "2f3a" / "persistent-0"
    logs = [json.loads(path.read_text()) for path in sorted(folder.iterdir())]
    assert [[sample["id"] for sample in log["samples"]] for log in logs] == [
        ["knapsack-0001"],
        ["i-1", "knapsack-0001"],
    ]
    assert logs[1]["stats"]["model_usage"]["persistent-0"]["total_tokens"] == 1320
    assert logs[1]["eval"]["dataset"] == {"name": "easy", "samples": 2, "sample_ids": ["i-1", "knapsack-0001"]}
