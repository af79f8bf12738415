"""The episode machine on its own: what it asks, in which order, and how each end is told."""

import asyncio
from typing import Any

import pytest

from carryover.tasks.agent.events import (
    Acted,
    Answer,
    Asked,
    Compacted,
    Observed,
    Refusal,
    Replied,
    Unanswered,
    retryable,
)
from carryover.tasks.agent.machine import EpisodeMachine, Limits
from carryover.tasks.agent.protocol import (
    Completion,
    CompletionRequest,
    ContextOverflowError,
    Message,
    ModelError,
    ReplyNotKeptError,
)
from carryover.tasks.agent.reply import read_reply
from carryover.tasks.agent.speaker import Speaker
from carryover.tasks.runtime.results import BlockResult
from carryover.tasks.traces.vocabulary import ErrorKind, FinishReason, TokenSource

BLOCK = "```python\nx = 1\n```"


class Model:
    """Gives replies of 10 tokens from a list; an exception among them is raised."""

    model_name = "model"
    token_source: TokenSource = "server"

    def __init__(self, *replies):
        self._replies = list(replies)
        self.asked = 0

    async def complete(self, request):
        self.asked += 1
        reply = self._replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        if isinstance(reply, Completion):
            return reply
        return completion(reply)


class PlainSpeaker(Speaker):
    """Speaks for an environment that only notes the blocks it was given."""

    def __init__(self, *, goes_on=True, idle_ends=True, over_after=99, length=0):
        self.goes_on = goes_on
        self.idle_ends = idle_ends
        self.ran = []
        self.told = []
        self.length = length
        self._over_after = over_after

    def ask(self):
        return Asked("Go.")

    def request(self):
        return CompletionRequest((Message(role="user", content="Go."),), seed=7, episode_id="episode")

    def read(self, completion):
        return read_reply(completion.text)

    def keep(self, reply, completion):
        self.length += 10

    async def act(self, reply):
        self.ran.append(reply.code)
        return Acted(reply.code or "", BlockResult(), is_verified=True)

    def is_over(self):
        return len(self.ran) >= self._over_after

    def observe(self, reply, acted):
        return self.refuse("observed")

    def refuse(self, text):
        self.told.append(text)
        return text

    def fill(self, name, /, **values):
        return " ".join([name, *(f"{key}={value}" for key, value in values.items())])

    def token_count(self):
        return self.length

    def can_shorten(self):
        return self.length > 50

    async def shorten(self, complete):
        before, self.length = self.length, 10
        return Compacted(before, 10, 0, is_summarized=False, prompt_tokens=0, completion_tokens=0)


def completion(text, reason="stop"):
    return Completion(text, reason, prompt_tokens=8, cached_prompt_tokens=0, completion_tokens=2, model_seconds=0.0)


def play(model, speaker=None, **limits):
    default = {"replies": 5, "replies_spent": FinishReason.MAX_STEPS, "tokens": None, "seconds": 60.0}
    machine = EpisodeMachine(model, speaker or PlainSpeaker(), Limits(**{**default, **limits}))

    async def collect() -> list[Any]:
        return [event async for event in machine.play()]

    return asyncio.run(collect()), machine


def test_a_reply_without_a_block_is_the_answer():
    events, machine = play(Model(BLOCK, "<think>Hm.</think>\nDone."))
    assert [type(event) for event in events] == [Asked, Replied, Observed, Replied, Answer]
    assert machine.answer == events[-1] == answer("Done.", FinishReason.ANSWER, 2)
    assert str(machine.answer) == "Done."


def answer(text, stop, replies):
    return Answer(text, stop=stop, step_count=replies, prompt_tokens=8 * replies, completion_tokens=2 * replies)


@pytest.mark.parametrize(
    ("limits", "stop", "text"),
    [
        ({"replies": 2}, FinishReason.MAX_STEPS, "stopped_max_steps steps=2"),
        ({"replies": 2, "replies_spent": FinishReason.MAX_TURNS}, FinishReason.MAX_TURNS, "stopped_max_turns steps=2"),
        ({"tokens": 15}, FinishReason.MAX_TOKENS, "stopped_max_tokens tokens=20"),
    ],
)
def test_a_spent_budget_ends_the_episode(limits, stop, text):
    speaker = PlainSpeaker()
    events, _ = play(Model(BLOCK, BLOCK, BLOCK), speaker, **limits)
    assert events[-1] == answer(text, stop, 2)
    assert len(speaker.ran) == len(speaker.told) == 2


def test_no_time_is_no_request():
    model = Model(BLOCK)
    events, _ = play(model, seconds=0.0)
    assert (events[-1].stop, model.asked) == (FinishReason.TIMEOUT, 0)


def test_an_episode_that_is_over_writes_no_last_message():
    speaker = PlainSpeaker(goes_on=False)
    events, _ = play(Model(BLOCK, BLOCK), speaker, replies=2)
    assert [event.text for event in events if isinstance(event, Observed)] == ["observed", None]
    assert speaker.told == ["observed"]


def test_what_a_block_did_can_end_the_episode():
    events, _ = play(Model(BLOCK, BLOCK, BLOCK), PlainSpeaker(over_after=2))
    assert events[-1].stop == FinishReason.FINISH_TOOL
    assert [event.text for event in events if isinstance(event, Observed)] == ["observed", None]


@pytest.mark.parametrize(
    ("reply", "error_type", "text"),
    [
        (completion(BLOCK, "length"), "ReplyCutOff", "cut_off reason=length"),
        ("```python\nx = 1", "UnclosedBlock", "unclosed"),
        ("", "NoCodeBlock", "no_block"),
    ],
)
def test_an_unusable_reply_is_refused_and_runs_nothing(reply, error_type, text):
    speaker = PlainSpeaker(idle_ends=False)
    events, _ = play(Model(reply, BLOCK), speaker, replies=2)
    refused = events[2]
    assert (refused.refusal.error_type, refused.text, refused.result) == (error_type, text, None)
    assert speaker.ran == ["x = 1"]


def test_an_empty_reply_answers_where_no_block_is_needed():
    events, _ = play(Model(""))
    assert events[-1] == answer("", FinishReason.ANSWER, 1)


def test_tokens_that_a_block_spent_on_models_count_against_the_budget():
    class AskingSpeaker(PlainSpeaker):
        def take_tokens(self):
            return 40, 7

    events, _ = play(Model(BLOCK, BLOCK), AskingSpeaker(), tokens=57)
    assert (events[-1].stop, events[-1].text) == (FinishReason.MAX_TOKENS, "stopped_max_tokens tokens=57")
    assert (events[-1].prompt_tokens, events[-1].completion_tokens) == (48, 9)


def test_an_answer_that_is_refused_is_asked_for_again():
    class ReviewingSpeaker(PlainSpeaker):
        complaints = ("not a number",)

        async def review(self):
            first, self.complaints = (*self.complaints, None)[0], ()
            return first

    speaker = ReviewingSpeaker()
    events, _ = play(Model("It is x.", "It is 3."), speaker)
    assert events[2] == Observed("not a number", refusal=Refusal(ErrorKind.PROTOCOL, "WrongResult", "not a number"))
    assert events[-1] == answer("It is 3.", FinishReason.ANSWER, 2)
    assert speaker.told == ["not a number"]


def test_a_conversation_up_to_its_limits_is_sent_as_it_is():
    events, _ = play(Model("Done."), PlainSpeaker(length=60), shorten_above=60, context_tokens=61)
    assert [type(event) for event in events] == [Asked, Replied, Answer]


def test_an_observation_tells_of_dropped_blocks():
    events, _ = play(Model(BLOCK, f"{BLOCK}\n{BLOCK}", "Done."))
    observed = [event for event in events if isinstance(event, Observed)]
    assert [event.has_note for event in observed] == [False, True]
    assert [event.result for event in observed] == [BlockResult(), BlockResult()]


def test_lone_surrogates_of_a_reply_are_replaced():
    _, machine = play(Model("D\ud800ne."))
    assert machine.answer.text == "D?ne."


def test_a_model_that_fails_is_an_event_and_an_end():
    error = ModelError("gone")
    events, _ = play(Model(BLOCK, error))
    assert isinstance(events[-2], Unanswered)
    assert events[-2].error is error
    assert events[-1] == answer("stopped_error error=gone", FinishReason.ERROR, 1)


def test_a_model_that_takes_too_long_ends_by_time():
    events, _ = play(Model(TimeoutError()))
    assert [type(event) for event in events] == [Asked, Unanswered, Answer]
    assert events[-1] == answer("stopped_timeout", FinishReason.TIMEOUT, 0)


def test_a_reply_that_cannot_be_kept_is_recorded_and_stops_the_run():
    events, machine = play(Model(ReplyNotKeptError("disk full", completion(BLOCK))))
    assert [type(event) for event in events] == [Asked, Replied, Answer]
    assert events[-1].text == "stopped_error error=disk full"
    assert (events[-1].prompt_tokens, str(machine.unkept)) == (8, "disk full")


def test_a_conversation_that_cannot_be_shortened_says_so():
    class LastingSpeaker(PlainSpeaker):
        can_shorten = Speaker.can_shorten
        shorten = Speaker.shorten

    speaker = LastingSpeaker()
    assert not speaker.can_shorten()
    with pytest.raises(NotImplementedError, match="cannot be shortened"):
        asyncio.run(speaker.shorten(Model("A summary.").complete))


def test_a_speaker_of_no_more_than_it_must_ends_nothing_and_spends_nothing():
    speaker = PlainSpeaker()
    assert not Speaker.is_over(speaker)
    assert (Speaker.token_count(speaker), Speaker.take_tokens(speaker)) == (0, (0, 0))
    assert asyncio.run(Speaker.review(speaker)) is None


def test_a_long_conversation_is_shortened_before_it_is_sent():
    events, _ = play(Model("Done."), PlainSpeaker(length=100), shorten_above=80)
    assert [type(event) for event in events] == [Asked, Compacted, Replied, Answer]


def test_an_overflow_is_met_by_a_shorter_conversation():
    events, _ = play(Model(ContextOverflowError("too long"), "Done."), PlainSpeaker(length=60))
    assert [type(event) for event in events] == [Asked, Compacted, Replied, Answer]


def test_an_overflow_of_a_short_conversation_ends_the_episode():
    events, _ = play(Model(ContextOverflowError("too long")), PlainSpeaker(length=40))
    assert [type(event) for event in events] == [Asked, Unanswered, Answer]
    assert events[-1] == answer("stopped_context_length error=too long", FinishReason.CONTEXT_LENGTH, 0)


def test_an_end_by_time_is_an_error_to_be_tried_again():
    late = answer("late", FinishReason.TIMEOUT, 2)
    assert retryable(late) == answer("late", FinishReason.ERROR, 2)
    done = answer("Done.", FinishReason.ANSWER, 2)
    assert retryable(done) is done


def test_a_conversation_as_long_as_the_window_is_not_sent():
    model = Model("Done.")
    events, _ = play(model, PlainSpeaker(length=40), context_tokens=40)
    assert (events[-1].stop, model.asked) == (FinishReason.CONTEXT_LENGTH, 0)
