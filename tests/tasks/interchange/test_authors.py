import json
from datetime import datetime

import pytest

from carryover.tasks.interchange.authors import authors_documents, write_authors
from carryover.tasks.readers.import_setting import ImportSetting
from carryover.tasks.readers.importing import import_traces
from carryover.tasks.readers.tally import Tally
from carryover.tasks.readers.trace import InstanceDescription
from carryover.tasks.traces.vocabulary import FinishReason

SETTING = ImportSetting(run_id="import", runtime_contract="persistent", purpose="teacher", split="train")


@pytest.fixture
def exported(played, tmp_path):
    write_authors(played.traces(), tmp_path)
    return tmp_path


def instance_ids(played):
    return {
        InstanceDescription(row.task_id, row.capacity, row.optimal_value): row.instance_id for row in played.instances
    }


def test_the_layout_is_the_repositorys(played):
    documents = authors_documents(played.traces()[0])
    assert list(documents.trace) == ["started_at", "finished_at", "summary", "events", "contract"]
    assert list(documents.trace["summary"]) == [
        "task",
        "system_prompts",
        "num_steps",
        "finish_reason",
        "errors",
        "token_usage",
    ]
    kinds = [event["type"] for event in documents.trace["events"]]
    assert kinds[:5] == ["StartEvent", "SystemPromptEvent", "ModelCallEvent", "ModelResponseEvent", "StepEvent"]
    assert kinds[-1] == "FinishEvent"
    step = documents.trace["events"][4]["data"]
    assert list(step) == ["turn", "assistant_text", "code", "interpreter_result", "token_usage"]
    assert list(step["interpreter_result"]) == ["success", "result", "output", "error"]
    assert step["turn"] == 0
    assert list(documents.result) == ["status", "error", "result", "finished_at", "started_at"]
    assert documents.result["status"] == "completed"
    started_at = datetime.fromisoformat(documents.trace["started_at"])
    assert documents.result["started_at"] == started_at.timestamp()
    assert set(documents.result["result"]["metrics"]) == {
        "agent_value",
        "optimal_value",
        "optimality_gap",
        "weight_used",
        "capacity",
        "items_taken_count",
        "inspected_count",
    }


def test_gap_is_what_the_optimal_set_is_worth_more(played):
    trace = played.traces()[0]
    episode = trace.episode.model_copy(update={"value_taken": 7})
    instance = trace.instance.model_copy(update={"optimal_value": 10})
    metrics = authors_documents(trace._replace(episode=episode, instance=instance)).result["result"]["metrics"]
    assert (metrics["agent_value"], metrics["optimal_value"], metrics["optimality_gap"]) == (7, 10, 3)


@pytest.mark.parametrize(("value_taken", "has_instance"), [(None, True), (7, False), (None, False)])
def test_an_episode_without_value_or_instance_has_no_gap(played, value_taken, has_instance):
    trace = played.traces()[0]
    episode = trace.episode.model_copy(update={"value_taken": value_taken})
    instance = trace.instance if has_instance else None
    metrics = authors_documents(trace._replace(episode=episode, instance=instance)).result["result"]["metrics"]
    assert (metrics["agent_value"], metrics["optimality_gap"]) == (value_taken, None)


def test_the_contract_is_declared(played):
    declared = {trace.episode.runtime_contract: authors_documents(trace).trace["contract"] for trace in played.traces()}
    assert sorted(declared) == ["persistent", "stateless"]
    for contract, declaration in declared.items():
        assert (declaration["runtime"], declaration["shown"], declaration["trained"]) == (contract, contract, None)
        assert declaration["declaration"]["contract"]["name"] == contract


def test_what_is_exported_comes_back(played, exported):
    before = {trace.episode.instance_id + trace.episode.runtime_contract: trace for trace in played.traces()}
    imported = list(import_traces(exported, SETTING, instance_ids(played)))
    assert len(imported) == len(before)
    for rows in imported:
        trace = before[rows.episode.instance_id + rows.episode.runtime_contract]
        same = (
            "runtime_contract", "instance_id", "finish_reason", "score", "is_solved", "value_taken", "weight_taken",
            "taken_count", "inspected_count", "turn_count", "step_count", "call_site_count", "prompt_tokens",
            "completion_tokens", "started_at",
        )  # fmt: skip
        assert {name: getattr(rows.episode, name) for name in same} == {
            name: getattr(trace.episode, name) for name in same
        }
        assert rows.episode.wall_seconds == pytest.approx(trace.episode.wall_seconds, abs=1e-5)
        assert rows.episode.scale == "import"
        columns = ("step", "turn", "code", "output", "result", "error", "error_type", "error_kind", "import_count")
        assert [[getattr(step, name) for name in columns] for step in rows.steps] == [
            [getattr(step, name) for name in columns] for step in trace.steps
        ]
        assert [(turn.assistant_text, turn.prompt_tokens) for turn in rows.turns] == [
            (turn.assistant_text, turn.prompt_tokens) for turn in trace.turns
        ]
        assert json.loads(rows.turns[0].observation or "") == json.loads(trace.turns[0].observation or "")


def test_importing_twice_gives_the_same_ids(played, exported):
    first, second = ([rows.episode.episode_id for rows in import_traces(exported, SETTING)] for _ in range(2))
    assert first == second
    assert len(set(first)) == len(played.episodes)


def authors_trace(events, **summary):
    usage = {"prompt_tokens": 30, "completion_tokens": 6, "total_tokens": 36}
    summary = {"task": "Fill it.", "system_prompts": ["Code."], "finish_reason": "finish_tool"} | summary
    times = {"started_at": "2026-01-01T00:00:00", "finished_at": "2026-01-01T00:01:30"}
    return times | {"summary": summary | {"token_usage": usage}, "events": events}


def response(tokens):
    return {"type": "ModelResponseEvent", "data": {"completion_tokens": tokens, "total_tokens": 10 + tokens}}


def step(code, error=None):
    outcome = {"success": error is None, "result": None, "output": "1\n", "error": error}
    data = {"turn": 0, "assistant_text": f"Go.\n```python\n{code}\n```", "code": code, "interpreter_result": outcome}
    return {"type": "StepEvent", "data": data}


def write_pair(folder, trace, result=None, name="knapsack-knapsack-0000000007"):
    (folder / f"{name}.trace.json").write_text(json.dumps(trace))
    if result is not None:
        (folder / f"{name}.json").write_text(json.dumps(result))


def test_a_foreign_trace_with_its_result(tmp_path):
    name_error = "Traceback\n  line 1\nNameError: name 'x' is not defined"
    limit = "ToolCallLimitError: Tool call limit exceeded (25)"
    refused = "ToolRuntimeException: item already taken"
    events = [
        response(2), {"type": "ErrorEvent", "data": {"error": "no code"}},
        response(2), {"type": "ErrorEvent", "data": {"error": name_error}}, step("print(x)", name_error),
        response(1), step("inspect('a')", limit),
        response(1), step("take_item('a')\nfinish()", refused),
    ]  # fmt: skip
    metrics = {"agent_value": 9, "optimal_value": 12, "weight_used": 4, "items_taken_count": 1, "inspected_count": 2}
    result = {"status": "success", "error": None, "result": {"is_solved": False, "score": 0.75, "metrics": metrics}}
    write_pair(tmp_path, authors_trace(events), result)
    (rows,) = import_traces(tmp_path, SETTING)
    episode = rows.episode
    assert (episode.instance_id, episode.score, episode.value_taken) == ("knapsack-0000000007", 0.75, 9)
    assert (episode.turn_count, episode.step_count, episode.call_site_count) == (4, 3, 3)
    assert (episode.prompt_tokens, episode.completion_tokens) == (30, 6)
    assert (episode.wall_seconds, episode.runtime_contract) == (90.0, "persistent")
    assert episode.started_at == datetime.fromisoformat("2026-01-01T00:00:00+00:00")
    assert [(turn.block_count, turn.completion_tokens) for turn in rows.turns] == [
        (0, 0),
        (0, 2),
        (1, 2),
        (1, 1),
        (1, 1),
    ]
    assert [(error.turn, error.step, error.kind, error.error_type, error.is_missing_name) for error in rows.errors] == [
        (1, None, "protocol", "Exception", False),
        (2, 1, "interpreter", "NameError", True),
        (3, 2, "cap", "ToolCallLimitError", False),
        (4, 3, "tool", "ToolRuntimeException", False),
    ]
    assert [(event.step, event.kind, event.name) for event in rows.name_events] == [
        (1, "read", "x"),
        (2, "call_site", "inspect"),
        (3, "call_site", "take_item"),
        (3, "call_site", "finish"),
    ]


@pytest.mark.parametrize(
    ("reason", "ending", "message"),
    [
        *((reason.value, reason, None) for reason in FinishReason),
        (None, FinishReason.TIMEOUT, None),
        ("bored", FinishReason.OTHER, "finish reason 'bored'"),
    ],
)
def test_endings_keep_their_name(tmp_path, reason, ending, message):
    write_pair(tmp_path, authors_trace([step("finish()")], finish_reason=reason))
    (rows,) = import_traces(tmp_path, SETTING)
    assert rows.episode.finish_reason is ending
    assert rows.episode.error_message == message
    assert rows.episode.score is None


@pytest.mark.parametrize("reason", ["max_steps", "length", "exception", "tool_error"])
def test_foreign_endings_are_exported_as_they_came(played, reason):
    trace = played.traces()[0]
    foreign = trace._replace(episode=trace.episode.model_copy(update={"finish_reason": FinishReason(reason)}))
    documents = authors_documents(foreign)
    assert documents.trace["summary"]["finish_reason"] == documents.trace["events"][-1]["data"]["reason"] == reason
    assert documents.result["status"] == ("completed" if reason in ("max_steps", "length") else "error")


def test_replies_without_an_executed_block_are_turns_without_a_step(tmp_path):
    silent = {"turn": 1, "assistant_text": "Hm.", "code": None, "interpreter_result": None}
    error = "Error: You emitted multiple code blocks."
    double = {
        "turn": 2,
        "assistant_text": "```\na\n```\n```\nb\n```",
        "code": None,
        "interpreter_result": {"error": error},
    }
    failed = "LLM Call Failed: timeout"
    events = [
        response(1), {"type": "StepEvent", "data": silent},
        response(1), {"type": "ErrorEvent", "data": {"error": error}}, {"type": "StepEvent", "data": double},
        {"type": "ErrorEvent", "data": {"error": failed}},
        response(1), step("finish()"),
        {"type": "FinishEvent", "data": {"reason": "finish_tool"}},
    ]  # fmt: skip
    write_pair(tmp_path, authors_trace(events))
    (rows,) = import_traces(tmp_path, SETTING)
    assert (rows.episode.turn_count, rows.episode.step_count) == (4, 1)
    assert [(turn.assistant_text[:3], turn.block_count) for turn in rows.turns[1:]] == [
        ("Hm.", 0),
        ("```", 2),
        ("", 0),
        ("Go.", 1),
    ]
    assert [(error.turn, error.kind, error.message) for error in rows.errors] == [
        (2, "protocol", error),
        (3, "model", failed),
    ]
    assert rows.steps[0].turn == 4


def test_an_error_that_ended_the_episode_is_not_a_turn(tmp_path):
    boom = {"type": "ErrorEvent", "data": {"error": "boom"}}
    ending = {"type": "FinishEvent", "data": {"reason": "error"}}
    write_pair(
        tmp_path, authors_trace([response(1), step("1"), boom, ending], finish_reason="error"), {"error": "boom"}
    )
    (rows,) = import_traces(tmp_path, SETTING)
    assert (rows.episode.turn_count, rows.episode.error_message, rows.errors) == (1, "boom", ())


def test_the_time_is_the_benchmarks_where_it_is_there(tmp_path):
    result = {"result": {"score": 0.5, "metrics": {}}, "started_at": 1000.25, "finished_at": 1012.75}
    write_pair(tmp_path, authors_trace([step("finish()")]), result)
    (rows,) = import_traces(tmp_path, SETTING)
    assert rows.episode.wall_seconds == 12.5
    unfinished = authors_trace([step("1")], finish_reason=None) | {"finished_at": None}
    write_pair(tmp_path, unfinished, name="knapsack-knapsack-0000000008")
    assert [rows.episode.wall_seconds for rows in import_traces(tmp_path, SETTING)] == [12.5, 0.0]


def test_a_task_is_the_known_instance_that_its_result_describes(tmp_path):
    metrics = {"capacity": 40, "optimal_value": 90}
    write_pair(tmp_path, authors_trace([step("finish()")]), {"result": {"score": 1.0, "metrics": metrics}})
    known = InstanceDescription("knapsack-0000000007", 40, 90)
    for described, expected in ((known, "ours"), (known._replace(capacity=41), "knapsack-0000000007")):
        (rows,) = import_traces(tmp_path, SETTING, {described: "ours"})
        assert rows.episode.instance_id == expected


def test_an_invalid_score_is_counted_as_unread(tmp_path):
    result = {"status": "success", "error": None, "started_at": 1.0, "finished_at": 2.0}
    write_pair(tmp_path, authors_trace([step("1")]), result | {"result": {"score": "high", "metrics": {}}})
    tally = Tally()
    assert list(import_traces(tmp_path, SETTING, tally=tally)) == []
    assert tally.trace_count == 0
    (sentence,) = tally.sentences()
    assert sentence.startswith("1 unread: differs from the repository of arXiv 2603.01209 (first: ")
    assert sentence.endswith("knapsack-knapsack-0000000007.trace.json: TypeError score of the trace is str)")


def test_a_timed_out_episode_has_no_finish_event(played):
    trace = played.traces()[0]
    late = trace._replace(episode=trace.episode.model_copy(update={"finish_reason": FinishReason.TIMEOUT}))
    documents = authors_documents(late)
    assert documents.trace["summary"]["finish_reason"] is None
    assert "FinishEvent" not in [event["type"] for event in documents.trace["events"]]
