"""What a simulated user and a judge are asked, and what ends a conversation."""

import asyncio
from typing import Any

import pytest

from carryover.tasks.agent.condition import decoding_seed
from carryover.tasks.agent.events import Answer
from carryover.tasks.agent.protocol import Completion, Message, NoReplyError
from carryover.tasks.cave.arms.dialogue import Speakers, converse
from carryover.tasks.cave.suites.case import Dialogue
from carryover.tasks.services.errors import UserError
from carryover.tasks.traces.vocabulary import FinishReason, TokenSource

DIALOGUE = Dialogue(scenario="You want a refund.", assertions=("It was polite.", "It was refunded."))
BEGIN = "Begin: you are the customer, and speak to a customer service agent."


class Lines:
    """Says its lines in order, and keeps what it was asked."""

    token_source: TokenSource = "server"

    def __init__(self, name, *lines):
        self.model_name = name
        self.lines = list(lines)
        self.requests = []

    async def complete(self, request):
        self.requests.append(request)
        if not self.lines:
            raise NoReplyError("no line is left")
        return Completion(self.lines.pop(0), "stop", 0, 0, 0, 0.0)


def hold(*stops, user=None, judge=None, dialogue=DIALOGUE):
    """Converse with an agent whose answers end so; return what was heard, and what the agent was asked."""
    asked = []

    async def ask(line) -> Any:
        asked.append(line)
        stop = stops[min(len(asked), len(stops)) - 1]
        answer = Answer(f"Answer {len(asked)}.", stop=stop, step_count=2, prompt_tokens=10, completion_tokens=1)
        return answer, [f"call {len(asked)}"]

    return asyncio.run(converse(ask, "Refund me.", dialogue, Speakers(user, judge), "e")), asked


ANSWERED = FinishReason.ANSWER


def test_without_a_user_the_opening_is_the_only_line():
    heard, asked = hold(ANSWERED)
    assert asked == ["Refund me."]
    assert heard.answer == Answer("Answer 1.", stop=ANSWERED, step_count=2, prompt_tokens=10, completion_tokens=1)
    assert (heard.calls, heard.judged_reward) == (["call 1"], None)


@pytest.mark.parametrize("end", ["Bye ###STOP###", "###TRANSFER###", "###OUT-OF-SCOPE### sorry"])
def test_a_user_speaks_until_it_ends_the_conversation(end):
    user = Lines("u", "Hello.", "Please.", end)
    heard, asked = hold(ANSWERED, user=user)
    assert asked == ["Hello.", "Please."]
    assert heard.answer == Answer(
        "Answer 1.\nAnswer 2.", stop=ANSWERED, step_count=4, prompt_tokens=20, completion_tokens=2
    )
    assert heard.calls == ["call 1", "call 2"]
    first, _, third = user.requests
    opening = (Message(role="system", content="You want a refund."), Message(role="user", content=BEGIN))
    assert first.messages == opening
    said: list[tuple[Any, str]] = [
        ("assistant", "Hello."),
        ("user", "Answer 1."),
        ("assistant", "Please."),
        ("user", "Answer 2."),
    ]
    assert third.messages == (*opening, *(Message(role=role, content=content) for role, content in said))
    assert (third.seed, third.episode_id, third.temperature) == (decoding_seed("e", 6, 0), "e by u", 0.0)


def test_a_first_line_is_asked_though_it_says_the_end():
    _, asked = hold(ANSWERED, user=Lines("u", "###STOP###", "###STOP###"))
    assert asked == ["###STOP###"]


@pytest.mark.parametrize(
    ("stop", "is_judged"),
    [(FinishReason.MAX_TURNS, True), (FinishReason.ERROR, False), (FinishReason.TIMEOUT, False)],
)
def test_an_agent_that_stops_ends_the_conversation(stop, is_judged):
    judge = Lines("j", "[true, true]")
    heard, asked = hold(ANSWERED, stop, user=Lines("u", "Hello.", "Please.", "More."), judge=judge)
    assert asked == ["Hello.", "Please."]
    assert heard.answer.stop is stop
    assert (heard.judged_reward, len(judge.requests)) == ((1.0, 1) if is_judged else (None, 0))


def test_a_user_says_a_hundred_lines_at_most():
    _, asked = hold(ANSWERED, user=Lines("u", *["Again."] * 200))
    assert len(asked) == 100


@pytest.mark.parametrize(
    ("reply", "reward"),
    [
        ("[true, true]", 1.0), ("So: [true, false].", 0.0), ("[true]", None), ("[true, 1]", None), ("yes", None),
        ("[true, true, true]", None),
    ],
)  # fmt: skip
def test_a_judge_answers_every_statement(reply, reward):
    judge = Lines("j", reply)
    heard, _ = hold(ANSWERED, user=Lines("u", "Hello.", "###STOP###"), judge=judge)
    assert heard.judged_reward == reward
    (request,) = judge.requests
    (message,) = request.messages
    assert (message.role, request.episode_id, request.temperature) == ("user", "e by j", 0.0)
    assert message.content.endswith(
        "Conversation:\ncustomer: Hello.\nagent: Answer 1.\ncustomer: ###STOP###\n\n"
        "Statements:\n1. It was polite.\n2. It was refunded."
    )


def test_nothing_is_judged_without_statements():
    judge = Lines("j", "[]")
    heard, _ = hold(ANSWERED, judge=judge, dialogue=Dialogue(scenario="", assertions=()))
    assert (heard.judged_reward, judge.requests) == (None, [])


def test_a_user_that_fails_later_ends_with_an_error():
    heard, asked = hold(ANSWERED, user=Lines("u", "Hello."))
    assert asked == ["Hello."]
    assert heard.answer.stop is FinishReason.ERROR
    first, second = heard.answer.text.splitlines()
    assert first == "Answer 1."
    assert "no line is left" in second
    assert heard.answer.step_count == 2
    with pytest.raises(UserError, match=r"^the simulated user gave no first message: no line is left; check --user-"):
        hold(ANSWERED, user=Lines("u"))
