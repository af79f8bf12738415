"""The dual-stream loop: it ends with the first reply that holds no block, or with a budget."""

import asyncio

import pytest

from carryover.tasks.agent.events import Answer, Asked, Observed, Replied
from carryover.tasks.agent.protocol import Completion, ContextOverflowError
from carryover.tasks.cave.agent_spec import AgentSpec
from carryover.tasks.cave.scripted import block, scripted, scripted_by
from carryover.tasks.traces.vocabulary import FinishReason


def test_reply_without_a_block_ends_the_loop(open_agent):
    answer = open_agent(block("x = 20 + 1"), block("print(2 * x)"), "It is 42.").ask("What is twice 21?")
    assert (str(answer), answer.stop, answer.step_count) == ("It is 42.", FinishReason.ANSWER, 3)


def test_names_live_on_from_question_to_question(open_agent, watched):
    model = watched(scripted(block("x = 7"), "Kept.", block("print(x)"), "7."))
    agent = open_agent(model)
    agent.ask("Keep 7.")
    agent.ask("What was it?")
    assert "<output>\n7\n</output>" in model.shown()


def test_every_reply_has_a_decoding_seed_of_its_own(open_agent, watched):
    model = watched(scripted(block("x = 7"), block("print(x)"), "7."))
    open_agent(model).ask("Keep 7, then print it.")
    seeds = {request.seed for request in model.requests}
    assert len(seeds) == len(model.requests) == 3


@pytest.mark.parametrize("fence", ["```json\n{}\n```", "```\nprint(1)\n```", "~~~python\nx\n~~~"])
def test_fences_of_other_languages_belong_to_the_answer(open_agent, fence):
    assert open_agent(fence).ask("Show it.").text == fence


def test_backticks_inside_a_string_do_not_end_a_block(open_agent, watched):
    model = watched(scripted(block("print('```' + 'ok')"), "Done."))
    open_agent(model).ask("Go.")
    assert "```ok" in model.shown()


def test_only_the_first_block_runs_and_the_rest_is_dropped(open_agent, watched):
    model = watched(scripted(block("print('first')") + "\nOutput: made up\n" + block("print('second')"), "Done."))
    open_agent(model).ask("Go.")
    assert "first" in model.shown()
    assert "second" not in model.shown()
    assert "holds 2" not in model.shown()
    assert "The reply held 2 python blocks" in model.shown()
    assert "made up" not in model.requests[-1].messages[-2].content


def test_unclosed_block_is_not_run(open_agent, watched):
    model = watched(scripted("```python\nprint('ran')", "Done."))
    agent = open_agent(model)
    assert agent.ask("Go.").text == "Done."
    assert "is not closed" in model.shown()
    assert agent.runtime.interpreter.journal().step_count == 0


class CutOff:
    """A model whose first reply is cut off by its length."""

    model_name, token_source = "cut", "server"

    async def complete(self, request):
        is_first = len(request.messages) == 2
        text = block("x = 1") if is_first else "Done."
        return Completion(text, "length" if is_first else "stop", 10, 0, 5, 0.0)


def test_reply_cut_off_by_its_length_is_not_run(open_agent):
    agent = open_agent(CutOff())
    assert agent.ask("Go.").stop == FinishReason.ANSWER
    assert agent.variables() == {}


def test_policy_violation_is_an_observation_and_nothing_runs(open_agent, watched):
    model = watched(scripted(block("x = 1\nimport subprocess"), "I will not."))
    agent = open_agent(model)
    agent.ask("Run ls.")
    assert "<refused>" in model.shown()
    assert "import of subprocess (line 2)" in model.shown()
    assert agent.variables() == {}


def test_output_over_the_limit_is_replaced_by_the_size_error(open_agent, watched):
    model = watched(scripted(block("print('a' * 6000)"), "Too long."))
    open_agent(model).ask("Print.")
    assert "The output has 6001 characters, 5000 are allowed" in model.shown()
    assert "aaa" not in model.shown()


def test_error_is_an_observation_and_earlier_names_stay(open_agent, watched):
    model = watched(scripted(block("x = 1\ny = x / 0"), block("print(x)"), "1."))
    open_agent(model).ask("Divide.")
    assert "ZeroDivisionError" in model.shown(1)
    assert "<output>\n1\n</output>" in model.shown(2)


def test_steps_are_a_budget(open_agent):
    agent = open_agent(*[block("print(1)")] * 3, "Done.", spec=AgentSpec(max_steps=3))
    answer = agent.ask("Go.")
    assert (answer.stop, answer.step_count) == (FinishReason.MAX_STEPS, 3)
    assert answer.text == "Stopped after 3 steps without a final answer."
    assert agent.go_on().text == "Done."


def test_tokens_are_a_budget(open_agent):
    answer = open_agent(*[block("print(1)")] * 9, spec=AgentSpec(max_tokens=1500)).ask("Go.")
    assert answer.stop == FinishReason.MAX_TOKENS
    assert answer.step_count < 9
    assert 1500 <= answer.prompt_tokens + answer.completion_tokens < 2000


class Overflowing:
    """An endpoint whose window is smaller than every conversation."""

    model_name, token_source = "narrow", "server"

    async def complete(self, request):
        raise ContextOverflowError("too long")


def test_context_is_a_budget(open_agent):
    assert open_agent(Overflowing()).ask("Go.").stop == FinishReason.CONTEXT_LENGTH
    assert open_agent("never", spec=AgentSpec(context_window=1001)).ask("word " * 2000).stop == "context_length"


class Slow:
    """A model that takes its time."""

    model_name, token_source = "slow", "server"

    async def complete(self, request):
        await asyncio.sleep(60)


def test_time_is_a_budget(open_agent):
    assert open_agent(Slow(), spec=AgentSpec(timeout_seconds=0.05)).ask("Go.").stop == FinishReason.TIMEOUT


def test_model_that_fails_ends_the_answer_with_its_complaint(open_agent, broken_model):
    answer = open_agent(broken_model).ask("Go.")
    assert (answer.stop, answer.text) == (FinishReason.ERROR, "Stopped by an error: connection refused")


def test_block_that_kills_its_interpreter_is_an_observation(open_agent, watched):
    model = watched(scripted(block("x = 1"), block("import os\nos.kill(os.getpid(), 9)"), block("print(x)"), "1."))
    assert open_agent(model).ask("Go.").text == "1."
    assert "rolled back to its state before this step" in model.shown(2)
    assert "<output>\n1\n</output>" in model.shown(3)


def test_events_come_in_the_order_of_the_algorithm(open_agent):
    events = []
    open_agent(block("print(1)"), "Done.").ask("Go.", watch=events.append)
    assert [type(event) for event in events] == [Asked, Replied, Observed, Replied, Answer]


def test_stream_yields_events_on_the_callers_loop(open_agent):
    agent = open_agent(block("print(1)"), "Done.")

    async def collect():
        return [type(event) async for event in agent.stream("Go.")]

    assert asyncio.run(collect()) == [Asked, Replied, Observed, Replied, Answer]


def test_watcher_sees_an_observation_before_the_next_request(open_agent):
    seen = []
    model = scripted_by(lambda messages: seen.append("asked") or (block("1") if len(messages) == 2 else "Done."))
    open_agent(model).ask("Go.", watch=lambda event: seen.append(type(event).__name__))
    assert seen == ["Asked", "asked", "Replied", "Observed", "asked", "Replied", "Answer"]


PLACE = object()


def test_two_agents_that_do_the_same_send_the_same_bytes(open_agent, watched):
    def play() -> list:
        model = watched(scripted(block("import random\nprint(random.random())"), block("1 / 0"), "Done."))
        agent = open_agent(model, name="same")
        agent.inject("limit", 3, description="A limit.")
        agent.inject("look", lambda place=PLACE: place)
        agent.ask("Go.")
        return model.requests

    assert play() == play()
