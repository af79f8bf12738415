import json

import pytest

from carryover.tasks.datasets.extraction import extract_conversations
from carryover.tasks.traces.vocabulary import TextFormat


@pytest.fixture
def extract(traces):
    def _extract(trace, text_format: TextFormat = "paper"):
        tables = traces.record(trace)
        return extract_conversations(tables.turns, tables.steps, ["episode"], text_format)["episode"]

    return _extract


def pairs(extraction):
    return [(message.role, message.content) for message in extraction.messages]


def test_the_papers_text_joins_systems_and_shows_bare_observations(traces, extract):
    steps = [
        traces.step("x = 1", output="", text="One."),
        traces.step("y", output="7\n", error="NameError: y", text="Two.\n```python\ny\n```\n```python\nextra\n```"),
        traces.step("finish()", output="bye", text="Three."),
    ]
    assert pairs(extract(traces.trace(steps=steps, task="Fill it."))) == [
        ("system", "You write code.\n\nNames persist.\n\nDemonstrations.\n\nTools."),
        ("user", "Fill it."),
        ("assistant", "One."),
        ("user", '{"output": ""}'),
        ("assistant", "Two.\n```python\ny\n```\n```python\nextra\n```"),
        ("user", '{"output": "7\\n", "error": "NameError: y"}'),
        ("assistant", "Three."),
    ]


def test_the_papers_text_skips_blockless_turns_and_blank_replies(traces, extract):
    steps = [traces.step(code=None), traces.step("x = 1", text="  \n"), traces.step("finish()", text="End.")]
    assert pairs(extract(traces.trace(steps=steps)))[1:] == [
        ("user", "Fill the knapsack."),
        ("user", '{"output": "1\\n"}'),
        ("assistant", "End."),
    ]


def test_the_exact_wire_is_what_inference_shows(traces, extract):
    two_blocks = "Two blocks.\n```python\nx = 1\n```\nand\n```python\ny\n```"
    steps = [traces.step(code=None), traces.step("x = 1", text=two_blocks), traces.step("finish()", text="End.")]
    extraction = extract(traces.trace(steps=steps), "exact_wire")
    assert [message.role for message in extraction.messages] == (
        ["system"] * 4 + ["user", "assistant", "user", "assistant", "user", "assistant"]
    )
    task, observation = (json.loads(extraction.messages[place].content) for place in (4, 6))
    assert task["runtime_state"]["runtime"] == "persistent"
    assert set(observation) == {"observation", "runtime_state"}
    # history keeps the text up to the first block
    assert extraction.messages[7].content == "Two blocks.\n```python\nx = 1\n```"


def test_a_reply_with_injected_fault_is_shown_but_not_imitated(traces, extract):
    steps = [traces.step("print(x)", injected="drop:x"), traces.step("x = 1"), traces.step("finish()")]
    text_formats: tuple[TextFormat, ...] = ("paper", "exact_wire")
    for text_format in text_formats:
        extraction = extract(traces.trace(steps=steps), text_format)
        assert [each.weight for each in extraction.messages if each.role == "assistant"] == [0, 1, 1]


def test_a_blockless_reply_is_shown_but_not_imitated(traces, extract):
    extraction = extract(traces.trace(steps=[traces.step(code=None), traces.step("finish()")]), "exact_wire")
    assert [each.weight for each in extraction.messages if each.role == "assistant"] == [0, 1]


def test_a_trace_without_steps_is_dropped(traces, extract):
    assert extract(traces.trace(steps=[traces.step(code=None)])).reason == "extraction_without_task_or_steps"


def test_a_trace_without_a_task_is_dropped(traces, extract):
    assert extract(traces.trace(task="")).reason == "extraction_without_task_or_steps"


def test_only_the_wanted_episodes_are_extracted(traces):
    tables = traces.record(traces.trace("one"), traces.trace("two"))
    assert list(extract_conversations(tables.turns, tables.steps, ["two"], "paper")) == ["two"]
