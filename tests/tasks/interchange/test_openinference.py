"""OpenInference spans: an agent, its model calls and its blocks."""

import json

import pytest

from carryover.tasks.interchange.openinference import write_openinference
from carryover.tasks.readers.spans import attributes_of, traces_of_spans
from tests.flattening import flat

KIND = "openinference.span.kind"


@pytest.fixture
def traces(played, tmp_path):
    path = tmp_path / "spans.jsonl"
    assert write_openinference(played.traces(), path) == len(played.traces())
    return traces_of_spans(map(json.loads, path.read_text().splitlines())).by_trace()


def test_an_episode_is_a_trace_of_one_agent(played, traces):
    assert len(traces) == len(played.traces())
    for spans in traces.values():
        (root,) = [span for span in spans if "parentSpanId" not in span]
        assert attributes_of(root)[KIND] == "AGENT"
        assert {span["parentSpanId"] for span in spans if span is not root} == {root["spanId"]}


def test_turns_are_model_calls_and_steps_are_tools(played, traces):
    kinds = [attributes_of(span)[KIND] for span in flat(traces.values())]
    assert kinds.count("LLM") == sum(trace.episode.turn_count for trace in played.traces())
    assert kinds.count("TOOL") == sum(trace.episode.step_count for trace in played.traces())


def test_tokens_are_ours(played, traces):
    held = [attributes_of(span) for span in flat(traces.values())]
    told = sum(int(each.get("llm.token_count.total", 0)) for each in held)
    assert told == sum(
        turn.prompt_tokens + turn.completion_tokens for turn in flat(trace.turns for trace in played.traces())
    )


def test_spans_end_after_they_start_and_in_order(traces):
    for spans in traces.values():
        assert all(int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"]) for span in spans)
        assert {type(span[key]) for span in spans for key in ("startTimeUnixNano", "endTimeUnixNano")} == {str}
        starts = [int(span["startTimeUnixNano"]) for span in spans]
        assert starts == sorted(starts)
