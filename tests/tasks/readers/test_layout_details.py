"""What single layouts hold beside blocks and outcomes: companions, branches, runs, scores, the authors' results."""

import json
from datetime import UTC, datetime

import pytest

from carryover.tasks.readers.authors_events import replies_of_events
from carryover.tasks.readers.authors_result import task_id_of, time_of
from carryover.tasks.readers.inspect_samples import score_of
from carryover.tasks.readers.reading import read_traces
from tests.tasks.readers.recorded import read
from tests.tasks.readers.whole_traces import plain


def test_texts_of_a_list_are_a_trace_each(tmp_path):
    texts = ["```python\na = 1\n```", "```python\nb = 2\n```"]
    traces, _ = read(tmp_path, json.dumps(texts).encode())
    assert [[block.code for block in trace.blocks] for trace in traces] == [["a = 1"], ["b = 2"]]


@pytest.mark.parametrize("nodes", [[], [{"id": 1}], ["message"], {"message": 1}])
def test_nodes_without_messages_are_no_trace_of_verifiers(tmp_path, nodes):
    traces, tally = read(tmp_path, json.dumps({"nodes": nodes}).encode())
    assert (traces, dict(tally.unread)) == ([], {"unknown layout": 1})


@pytest.mark.parametrize(
    "record",
    [
        {"splits": ["train"]},
        {"_data_files": [], "_fingerprint": "f"},
        {"features": {}, "citation": ""},
        {"features": {}, "splits": {}},
        {"average_is_solved": 1, "num_tasks_executed": 2},
        {"status": "ok", "started_at": "", "finished_at": "", "error": None},
        {"eval": {}, "plan": {}, "status": "success"},
        {"eval": {}, "plan": {}, "version": 2},
        {"id": "s", "epoch": 1, "target": "", "completed": True},
        {"id": "x", "agent": {}, "workspace": {}},
        {"model_name_or_path": "m", "instance_id": "i", "model_patch": ""},
        {"env_id": "e", "num_examples": 1, "rollouts_per_example": 1},
        {"env_args": {}, "env_id": "e", "model": "m"},
        {"scorer": "s", "samples": []},
    ],
)
def test_a_file_beside_traces_is_known_by_its_fields(tmp_path, record):
    traces, tally = read(tmp_path, json.dumps(record).encode())
    assert (traces, dict(tally.unread), tally.companions.total()) == ([], {}, 1)
    for missing in record:
        rest = {name: value for name, value in record.items() if name != missing}
        is_other_companion = set(rest) == {"splits"}
        assert read(tmp_path, json.dumps(rest).encode())[1].companions.total() == is_other_companion


@pytest.mark.parametrize("field", ["messages", "samples", "events", "steps", "trajectory"])
def test_a_file_with_traces_is_no_companion(tmp_path, field):
    record = {"features": {}, "citation": "", field: [{"role": "assistant", "content": "```\nx = 1\n```"}]}
    assert read(tmp_path, json.dumps(record).encode())[1].companions.total() == 0


def test_messages_of_open_interpreter_may_stand_in_an_object(tmp_path):
    code = {"role": "assistant", "type": "code", "format": "python", "content": "n = 3"}
    line = {"role": "computer", "type": "console", "format": "active_line", "content": "1"}
    console = {"role": "computer", "type": "console", "format": "output", "content": "ok"}
    document = {"id": "a", "messages": [{"role": "user", "type": "message", "content": "Go."}, code, line, console]}
    (trace,), _ = read(tmp_path, json.dumps(document).encode())
    assert (trace.layout, trace.trace_id) == ("messages of open-interpreter", "a")
    assert [(block.code, block.output) for block in trace.blocks] == [("n = 3", "ok")]


@pytest.mark.parametrize(("source", "codes"), [("carryover", ["a"]), ("import", ["a", "b"])])
def test_of_our_own_replies_the_first_block_ran(tmp_path, source, codes):
    said = {"role": "assistant", "content": "```python\na\n```\n```python\nb\n```"}
    declared = {"declaration": json.dumps({"source": source}), "episode": '{"bucket": "small"}', "messages": [said]}
    (trace,), _ = read(tmp_path, json.dumps(declared).encode())
    assert ([block.code for block in trace.blocks], trace.columns) == (codes, {"bucket": "small"})
    (undeclared,), _ = read(tmp_path, json.dumps(declared | {"declaration": None}).encode())
    assert ([block.code for block in undeclared.blocks], undeclared.columns) == (["a", "b"], {})


def test_a_chat_is_described_by_the_record_around_it(tmp_path):
    record = {
        "trajectory_id": 7, "example_id": "i", "contract": "reset", "shown_contract": "persistent",
        "train_contract": "stateless", "model": "m", "reward": True, "stop_reason": "done",
        "messages": [{"role": "user", "content": "Go."}, {"role": "assistant", "content": "So."}],
    }  # fmt: skip
    (trace,), _ = read(tmp_path, json.dumps(record).encode())
    told = (trace.trace_id, trace.instance_id, trace.model_name, trace.score, trace.finish_reason)
    assert told == ("7", "i", "m", 1.0, "done")
    assert (trace.declared_contract, trace.runtime_contract, trace.train_contract) == (
        "persistent",
        "stateless",
        "stateless",
    )


@pytest.mark.parametrize(
    "held", ['[{"role": "assistant", "content": "```\\nx = 1\\n```"}]', "[1, 2", "{}", [None], [3]]
)
def test_a_chat_may_be_json_in_a_text(tmp_path, held):
    traces, _ = read(tmp_path, json.dumps({"messages": held}).encode())
    assert [len(trace.blocks) for trace in traces] == [1] * str(held).startswith("[{")


def authors_event(kind, **data):
    return {"type": kind, "data": data}


AUTHORS_EVENTS = [
    authors_event("ModelCallEvent", prompt_tokens=40),
    authors_event("ModelResponseEvent", completion_tokens=5),
    authors_event(
        "StepEvent", assistant_text="One.", code="x = 1",
        interpreter_result={"output": "", "result": [1], "error": None},
    ),
    authors_event("ModelResponseEvent", completion_tokens=2, total_tokens=50),
    authors_event("ErrorEvent", error="no code block"),
    authors_event("StepEvent", assistant_text="Two.", code=None, interpreter_result=None),
    authors_event("ErrorEvent", error="the endpoint is down"),
    authors_event("ModelResponseEvent", completion_tokens=1, total_tokens=9),
    authors_event("ErrorEvent", error="ended"),
    authors_event("FinishEvent", reason="exception"),
]  # fmt: skip


def test_the_authors_trace_is_read_with_its_result(tmp_path):
    trace = {
        "started_at": "2026-01-01T00:00:00",
        "finished_at": "2026-01-01T00:00:09",
        "contract": {"shown": "reset", "runtime": "persistent", "trained": "stateless", "episode": {"bucket": "hard"}},
        "summary": {"task": {"b": 1, "a": 2}, "system_prompts": ["Work."], "token_usage": {"prompt_tokens": 77}},
        "events": AUTHORS_EVENTS,
    }
    metrics = {"capacity": 9, "optimal_value": 8, "agent_value": 7, "weight_used": 6, "items_taken_count": 5}
    result = {
        "started_at": 10.0,
        "finished_at": 12.5,
        "error": "gave up",
        "result": {"score": 0.5, "is_solved": False, "metrics": metrics},
    }
    (tmp_path / "knapsack-knapsack-7.trace.json").write_text(json.dumps(trace))
    (tmp_path / "knapsack-knapsack-7.json").write_text(json.dumps(result))
    (read_trace,) = read_traces(tmp_path / "knapsack-knapsack-7.trace.json")
    told = plain(read_trace.replies)
    assert told == [
        {"text": "One.", "blocks": [{"code": "x = 1", "output": "", "result": "[1]"}], "prompt_tokens": 40,
         "completion_tokens": 5},
        {"text": "Two.", "prompt_tokens": 48, "completion_tokens": 2},
        {"text": "", "error": "the endpoint is down", "is_model_error": True},
        {"text": "", "error": "ended", "prompt_tokens": 8, "completion_tokens": 1},
    ]  # fmt: skip
    assert read_trace.opening == (("system", "Work."), ("user", '{"a": 2, "b": 1}'))
    assert read_trace.described == ("knapsack-7", 9, 8)
    assert (read_trace.declared_contract, read_trace.runtime_contract) == ("stateless", "persistent")
    assert (read_trace.train_contract, read_trace.score, read_trace.error_message) == ("stateless", 0.5, "gave up")
    assert (read_trace.finish_reason, read_trace.wall_seconds, read_trace.prompt_tokens) == ("timeout", 2.5, 77)
    assert read_trace.columns == {
        "value_taken": 7, "weight_taken": 6, "taken_count": 5, "inspected_count": 0, "is_solved": False,
        "bucket": "hard",
    }  # fmt: skip
    (tmp_path / "knapsack-knapsack-7.json").unlink()
    (alone,) = read_traces(tmp_path / "knapsack-knapsack-7.trace.json")
    assert (alone.wall_seconds, alone.score, alone.described) == (9.0, None, ("knapsack-7", -1, -1))
    (tmp_path / "knapsack-knapsack-7.trace.json").write_text(json.dumps(trace | {"finished_at": None}))
    (unfinished,) = read_traces(tmp_path / "knapsack-knapsack-7.trace.json")
    assert unfinished.wall_seconds == 0.0


def test_a_response_without_its_call_counts_no_prompt():
    (reply,) = replies_of_events([authors_event("ModelResponseEvent", completion_tokens=5)])
    assert (reply.prompt_tokens, reply.completion_tokens) == (0, 5)
    called = authors_event("ModelCallEvent", prompt_tokens=None)
    assert replies_of_events([called, authors_event("ModelResponseEvent", completion_tokens=5)]) == (reply,)


@pytest.mark.parametrize("text", ["2026-01-01T09:30:00", "2026-01-01T09:30:00+00:00", "2026-01-01T11:30:00+02:00"])
def test_a_time_of_the_authors_is_utc_where_it_names_no_zone(text):
    assert time_of(text) == datetime(2026, 1, 1, 9, 30, tzinfo=UTC)


@pytest.mark.parametrize(("name", "task_id"), [("knapsack-12", "knapsack-12"), ("knapsack-a-12", "a-12"), ("x", "x")])
def test_a_file_of_the_authors_names_its_task(name, task_id):
    assert task_id_of(name) == task_id


def test_a_model_error_that_ends_an_episode_is_the_results():
    error = authors_event("ErrorEvent", error="down")
    assert replies_of_events([error, authors_event("FinishEvent", reason="exception")]) == ()
    (reply,) = replies_of_events([error, authors_event("FinishEvent", reason="max_turns")])
    assert reply.is_model_error


def test_steps_of_smolagents_may_stand_in_runs(tmp_path):
    step = {"step_number": 1, "model_output": "<code>x = 1</code>", "observations": "ok", "token_usage": None}
    called = {"step_number": 2, "tool_calls": [{"function": {"name": "python_interpreter", "arguments": "y = 2"}}]}
    runs = [{"id": 4, "state": "max_steps_error", "steps": [{"task": "Count."}, step, called]}, {"steps": [step]}]
    (first, second), _ = read(tmp_path, json.dumps(runs).encode())
    assert (first.trace_id, first.finish_reason) == ("4", "max_steps_error")
    assert [block.code for block in first.blocks] == ["x = 1", "y = 2"]
    assert [message.content for message in first.opening] == ["Count."]
    assert [block.code for block in second.blocks] == ["x = 1"]


def test_a_recorded_action_of_mini_swe_agent_is_its_call(tmp_path):
    for action in ("ls", {"command": "ls"}):
        messages = [
            {"role": "user", "content": "Go."},
            {"role": "assistant", "content": "So.", "extra": {"actions": [action, "pwd"]}},
            {"role": "user", "content": "a.py"},
        ]
        info = {"mini_version": "2", "exit_status": "Submitted", "config": {"model": {"model_name": "m"}}}
        (trace,), _ = read(tmp_path, json.dumps({"info": info, "messages": messages}).encode())
        assert [(block.code, block.language) for block in trace.blocks] == [("ls", "shell")]
        assert (trace.model_name, trace.finish_reason, trace.has_fresh_processes) == ("m", "Submitted", True)


def test_each_metadata_of_an_rlm_log_begins_a_run(tmp_path):
    metadata = {"type": "metadata", "root_model": "m"}
    iteration = {"iteration": 1, "response": "R", "code_blocks": [{"code": "x", "result": {"stdout": "1"}}]}
    lines = [metadata, iteration, metadata | {"root_model": "n"}, iteration | {"final_answer": "2"}]
    traces, _ = read(tmp_path, "\n".join(map(json.dumps, lines)).encode())
    assert [(trace.trace_id, trace.model_name, trace.finish_reason) for trace in traces] == [
        ("recording-1", "m", None),
        ("recording-2", "n", "answer"),
    ]


def test_a_path_through_a_verifiers_graph_follows_parents(tmp_path):
    said = [{"role": "assistant", "content": f"```\n{name}\n```"} for name in "abcd"]
    parents = [None, 0, 0, 2]
    nodes = [{"message": message, "parent": parent} for message, parent in zip(said, parents, strict=True)]
    traces, _ = read(tmp_path, json.dumps({"id": "v", "nodes": nodes}).encode())
    assert [[block.code for block in trace.blocks] for trace in traces] == [["a", "b"], ["a", "c", "d"]]


@pytest.mark.parametrize(
    ("scores", "score"),
    [
        ({"a": {"value": 0.25}, "b": 1}, 0.25),
        ({"a": {"value": "C"}}, 1.0),
        ({"a": "I"}, 0.0),
        ({"a": {"value": "words"}, "b": True}, 1.0),
        ({"a": {"value": None}}, None),
        ({}, None),
    ],
)
def test_a_score_of_inspect_is_a_number_or_a_letter(scores, score):
    assert score_of(scores) == score
