"""Agents and models that blocks ask, and what bounds them."""

import asyncio
import itertools
import time

import pandas as pd
import pytest

from carryover.tasks.agent.protocol import Completion
from carryover.tasks.cave.agent_spec import AgentSpec
from carryover.tasks.cave.asking import employ, language_model
from carryover.tasks.cave.scripted import block, scripted, scripted_by
from carryover.tasks.traces.vocabulary import FinishReason, TokenSource

REPLIES = """\
replies = [helper.ask(f"Double {number}.", give={"number": number}, take="doubled") for number in (1, 2, 3)]
longest = max(replies)
print(replies, longest)"""


def doubling(messages):
    """Double what was given, then answer."""
    last = messages[-1].content
    return "Done." if last.startswith("The block ran") else block("doubled = number * 2")


class Slow:
    """A model that never replies in time."""

    model_name = "slow"
    token_source: TokenSource = "server"

    def __init__(self):
        self.cancelled_count = 0

    async def complete(self, request) -> Completion:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            self.cancelled_count += 1
            raise
        raise AssertionError("nobody waits a minute")


def test_block_goes_on_with_what_helpers_replied(open_agent, watched, either_runtime):
    model = watched(scripted(block(REPLIES), "Six."))
    director = open_agent(model, on=either_runtime)
    helper = open_agent(scripted_by(doubling), name="helper", instructions="You double.", on=either_runtime)
    employ(director, {"helper": helper})
    answer = director.ask("Double them.")
    assert "[2, 4, 6] 6" in model.shown()
    told = model.requests[0].messages[0].content
    assert "helper: Helper, a live object outside of the interpreter\n    You double." in told
    assert "def ask(self, question: str, give: dict[str, typing.Any] | None = None, take: str | None = None)" in told
    alone = sum(request_tokens(director, helper))
    assert answer.prompt_tokens + answer.completion_tokens == alone


def request_tokens(*agents):
    """Return the tokens of every reply that agents gave, as their scripted models count."""
    total = []
    for agent in agents:
        messages = agent.text.messages()
        for place, message in enumerate(messages):
            if message.role == "assistant":
                count = lambda part: sum(len(one.content) for one in part) // 4  # noqa: E731
                total.append(count(messages[:place]) + count([message]))
    return total


def test_frame_is_given_and_taken(open_agent):
    code = "doubled = helper.ask('Double.', give={'number': frame}, take='doubled')"
    director = open_agent(block(code), "Done.")
    employ(director, {"helper": open_agent(scripted_by(doubling), name="helper")})
    director.inject("frame", pd.DataFrame({"a": [1, 2]}))
    director.ask("Double it.")
    assert director.retrieve("doubled").to_dict("list") == {"a": [2, 4]}


def test_answer_is_the_text_where_nothing_is_taken(open_agent):
    director = open_agent(block("reply = helper.ask('Who are you?')"), "Done.")
    employ(director, {"helper": open_agent("A helper.", name="helper")})
    director.ask("Ask.")
    assert director.retrieve("reply") == "A helper."


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("helper.ask('Go.', take='nothing')", "no variable 'nothing' is alive"),
        ("helper.ask('Go.', give={'x': iter([])})", "does not travel; send list(...) of it"),
        ("helper.close()", "'Helper' object has no attribute 'close'"),
        ("helper._agent", "'Helper' object has no attribute '_agent'"),
    ],
)
def test_block_is_told_what_went_wrong(open_agent, watched, call, told):
    model = watched(scripted(block(call), "I see."))
    director = open_agent(model)
    employ(director, {"helper": open_agent("Done.", name="helper")})
    director.ask("Go.")
    assert told in model.shown()


def test_peer_on_the_same_interpreter_cannot_be_employed(open_agent):
    director = open_agent("Done.")
    with pytest.raises(ValueError, match="works on the director's own interpreter"):
        employ(director, {"peer": director.peer("peer")})


def test_agents_that_ask_each_other_in_a_circle_are_refused(open_agent, watched):
    first = open_agent(block("second.ask('Ask back.')"), "First is done.", name="first")
    model = watched(scripted(block("first.ask('Hello?')"), "Second is done."))
    second = open_agent(model, name="second")
    employ(first, {"second": second})
    employ(second, {"first": first})
    assert str(first.ask("Go.")) == "First is done."
    assert "first waits for this block; ask another agent" in model.shown()


def test_questions_lie_only_so_deep(open_agent, watched):
    last = watched(scripted(block("next_one.ask('Deeper.')"), "Too deep."))
    agents = [
        open_agent(block("reply = next_one.ask('Deeper.')"), f"From {number}.", name=str(number)) for number in range(4)
    ]
    agents.append(open_agent(last, name="last"))
    agents.append(open_agent("Never.", name="never"))
    for one, other in itertools.pairwise(agents):
        employ(one, {"next_one": other})
    agents[0].ask("Begin.")
    assert "questions may lie 4 deep within each other" in last.shown()


def test_token_budget_of_the_question_bounds_its_blocks(open_agent):
    code = "replies = 0\nwhile True:\n    llm('x' * 400)\n    replies += 1"
    agent = open_agent(block(code), "Done.", spec=AgentSpec(max_tokens=2_000))
    agent.inject("llm", language_model(scripted_by(lambda _messages: "y" * 400)))
    answer = agent.ask("Ask for ever.")
    assert answer.stop is FinishReason.MAX_TOKENS
    assert agent.retrieve("replies") == 10


def test_number_of_questions_is_bounded(open_agent, watched):
    model = watched(scripted(block("for _ in range(300): llm('Hi')"), "Done."))
    agent = open_agent(model)
    agent.inject("llm", language_model(scripted_by(lambda _messages: "Hi.")))
    agent.ask("Go.")
    assert "200 questions may be asked within a question" in model.shown()


def test_time_of_the_question_bounds_its_blocks(open_agent):
    agent = open_agent(block("llm('Hi')"), "Done.", spec=AgentSpec(timeout_seconds=2))
    agent.inject("llm", language_model(Slow()))
    started = time.monotonic()
    assert agent.ask("Go.").stop is FinishReason.TIMEOUT
    assert time.monotonic() - started < 30


def test_cancelled_question_cancels_what_its_block_asks(open_agent):
    model = Slow()
    agent = open_agent(block("llm('Hi')"), "Done.")
    agent.inject("llm", language_model(model))

    async def ask_and_cancel():
        asked = asyncio.create_task(agent.ask_async("Go."))
        await asyncio.sleep(0.5)
        asked.cancel()
        await asyncio.wait([asked])

    asyncio.run(ask_and_cancel())
    assert str(agent.go_on()) == "Done."
    assert model.cancelled_count == 1
    assert "CancelledError" in agent.text.entries[-2].text


def test_waiting_for_a_model_takes_nothing_of_the_blocks_time(open_agent, fork_tree):
    class Late(Slow):
        async def complete(self, request):
            await asyncio.sleep(2.5)
            return await scripted("Late.").complete(request)

    agent = open_agent(block("reply = llm('Hi')"), "Done.")
    engine = agent.runtime.interpreter._state.engine
    engine.spec = engine.spec.model_copy(update={"block_timeout_seconds": 2.0})
    agent.inject("llm", language_model(Late()))
    agent.ask("Go.")
    assert agent.retrieve("reply") == "Late."


def test_model_is_asked_by_a_running_block_alone():
    with pytest.raises(Exception, match="only a running block can ask"):
        asyncio.run(language_model(scripted("Hi."))("Hello"))
