"""Logs of Inspect: one per cell, a tool event per block, our sums of tokens."""

import json
import re
from datetime import UTC, datetime, timedelta

import pytest

from carryover.tasks.interchange.inspect_log import inspect_log, write_inspect
from carryover.tasks.traces.vocabulary import FinishReason
from tests.flattening import flat


@pytest.fixture
def logs(played, tmp_path):
    assert write_inspect(played.traces(), tmp_path) == len(played.traces())
    return [json.loads(path.read_text()) for path in sorted(tmp_path.rglob("*.json"))]


def test_a_cell_is_a_log(played, logs):
    assert len(logs) == len({trace.folder for trace in played.traces()}) == 2
    assert {log["eval"]["metadata"]["runtime_contract"] for log in logs} == {"persistent", "stateless"}
    assert {log["version"] for log in logs} == {2}


def test_files_are_named_as_inspect_lists_them(logs, tmp_path):
    names = [path.name for path in tmp_path.rglob("*.json")]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d_[^_]+_[0-9a-f]{22}\.json", name) for name in names)
    assert sorted(name[:-5].split("_")[2] for name in names) == sorted(log["eval"]["task_id"] for log in logs)


def test_each_block_is_a_tool_event_and_a_call(played, logs):
    steps = {trace.episode.episode_id: trace.steps for trace in played.traces()}
    for sample in flat(log["samples"] for log in logs):
        codes = [step.code for step in steps[sample["uuid"]]]
        assert [event["arguments"]["code"] for event in sample["events"]] == codes
        calls = flat(message.get("tool_calls", ()) for message in sample["messages"])
        assert [call["arguments"]["code"] for call in calls] == codes
        answered = [message["tool_call_id"] for message in sample["messages"] if message["role"] == "tool"]
        assert answered == [call["id"] for call in calls]


def test_blocks_of_a_turn_have_the_observation_or_their_own_outcomes(played):
    trace = played.traces()[0]
    both = tuple(step.model_copy(update={"turn": 1}) for step in trace.steps[:2])

    def observed(steps):
        (sample,) = inspect_log([trace._replace(steps=steps)], trace.folder)["samples"]
        return [message["content"] for message in sample["messages"] if message["role"] == "tool"]

    def outcome(step):
        return json.dumps({"result": step.result, "output": step.output, "error": step.error})

    assert observed(both[:1]) == [trace.turns[1].observation]
    assert observed(both) == [outcome(step) for step in both]
    unobserved = trace.turns[1].model_copy(update={"observation": None})
    trace = trace._replace(turns=(trace.turns[0], unobserved, *trace.turns[2:]))
    assert observed(both[:1]) == [outcome(both[0])]


def test_tokens_are_ours(played, logs):
    told = sum(usage["total_tokens"] for usage in flat(log["stats"]["model_usage"].values() for log in logs))
    assert told == sum(trace.episode.prompt_tokens + trace.episode.completion_tokens for trace in played.traces())


def test_scores_are_ours(played, logs):
    scores = {trace.episode.episode_id: trace.episode.score for trace in played.traces()}
    told = {s["uuid"]: s["scores"]["optimality"]["value"] for s in flat(log["samples"] for log in logs)}
    assert told == scores
    mean = logs[0]["results"]["scores"][0]["metrics"]["mean"]["value"]
    assert mean == pytest.approx(sum(scores[s["uuid"]] for s in logs[0]["samples"]) / len(logs[0]["samples"]))


@pytest.mark.parametrize(
    ("reason", "limit"),
    [
        ("max_turns", {"type": "message", "limit": 24.0}),
        ("max_tokens", {"type": "token", "limit": 9000.0}),
        ("timeout", None),
        ("context_length", None),
    ],
)
def test_a_limit_is_told_with_its_own_value(played, reason, limit):
    first = played.traces()[0]
    ended = {"finish_reason": FinishReason(reason), "max_turns": 24, "max_tokens": 9000}
    trace = first._replace(episode=first.episode.model_copy(update=ended))
    (sample,) = inspect_log([trace], trace.folder)["samples"]
    assert sample.get("limit") == limit


def test_a_cell_lasts_from_its_first_start_to_its_last_end(played):
    trace = played.traces()[0]
    noon = datetime(2026, 3, 1, 12, tzinfo=UTC)

    def played_at(minutes, seconds):
        times = {"started_at": noon + timedelta(minutes=minutes), "wall_seconds": seconds}
        return trace._replace(episode=trace.episode.model_copy(update=times))

    log = inspect_log([played_at(1, 5.0), played_at(0, 90.0), played_at(1, 10.0)], trace.folder)
    assert log["eval"]["created"] == log["stats"]["started_at"]
    times = [datetime.fromisoformat(log["stats"][name]) for name in ("started_at", "completed_at")]
    assert times == [noon, noon + timedelta(seconds=90)]


def test_a_cell_without_a_score_has_no_mean(played):
    traces = played.traces()

    def metrics(*scores):
        scored = [
            trace._replace(episode=trace.episode.model_copy(update={"score": score}))
            for trace, score in zip(traces, scores, strict=False)
        ]
        return inspect_log(scored, traces[0].folder)["results"]["scores"][0]["metrics"]

    assert metrics(None) == {}
    assert metrics(None, 0.5, 1.0)["mean"]["value"] == 0.75
