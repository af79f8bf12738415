"""A stream sends text as soon as it is settled, and no sooner."""

import asyncio
import json
from collections import deque
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.requests import Request

from carryover.tasks.serving.cpu.api import ChatApi
from carryover.tasks.serving.cpu.model_engine import GenerationReply


class Letters:
    """A tokenizer of characters, whose `?` is the first half of a character."""

    def apply_chat_template(self, messages, **_):
        return messages[-1]["content"]

    def encode(self, text, **_):
        return list(map(ord, text))

    def decode(self, ids, **_):
        return "".join(map(chr, ids)).replace("?", "\ufffd")


class Dictation:
    """A scheduler that writes the next word when the last one has been seen."""

    def __init__(self, words, reply):
        self.words = deque(words)
        self.reply = reply
        self.was_seen = asyncio.Event()
        self.has_stopped = False

    async def complete(self, _, generation):
        try:
            while self.words:
                generation.generated += list(map(ord, self.words.popleft()))
                await self.was_seen.wait()
                self.was_seen.clear()
        except asyncio.CancelledError:
            self.has_stopped = True
            raise
        if self.reply is None:
            raise RuntimeError("the engine stopped")
        return GenerationReply(self.reply, "stop", 2, 1, 5)


def stream(words, reply, *, read=100, **asked):
    """Return the events of a stream as it was read, and the scheduler."""

    async def play():
        scheduler = Dictation(words, reply)
        model = SimpleNamespace(name="m", tokenizer=Letters())
        api: Any = ChatApi([model], scheduler, max_tokens=100, template_kwargs={})  # type: ignore[list-item]
        body = {"model": "m", "messages": [{"role": "user", "content": "Go"}], "stream": True} | asked

        async def receive():
            return {"type": "http.request", "body": json.dumps(body).encode()}

        response = await api.complete(Request({"type": "http", "method": "POST", "headers": []}, receive))
        events = []
        async for each in response.body_iterator:
            events.append(each.removeprefix("data: ").strip())
            if len(events) > 1 or not words:
                scheduler.was_seen.set()
            if len(events) == read:
                await response.body_iterator.aclose()
                break
        await asyncio.sleep(0.01)  # a cancelled task ends in a later turn of the loop
        return events, scheduler

    return asyncio.run(play())


def told(events):
    choices = [json.loads(event)["choices"] for event in events if event.startswith("{")]
    return [choice[0]["delta"].get("content") for choice in choices if choice]


def test_each_settled_piece_is_sent_before_the_reply_ends():
    events, _ = stream(["One ", "two "], "One two three")
    assert told(events) == ["", "One ", "two ", "three", None]
    first, *_, reason, end = events
    assert json.loads(first)["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert json.loads(first) | {"id": "", "created": 0, "choices": []} == {
        "id": "", "created": 0, "model": "m", "object": "chat.completion.chunk", "choices": [],
    }  # fmt: skip
    assert json.loads(reason)["choices"] == [{"index": 0, "delta": {}, "finish_reason": "stop"}]
    assert end == "[DONE]"


@pytest.mark.parametrize(
    ("word", "options", "sent"),
    [
        ("abcdef", {"stop": ["xyz"]}, "abcd"),  # two characters could begin the stop text
        ("abxyzf", {"stop": ["xyz", "f"]}, "ab"),
        ("abc??", {}, "abc"),
    ],
)
def test_text_that_may_change_is_held_back(word, options, sent):
    events, _ = stream([word], "whole reply", **options)
    assert told(events)[:2] == ["", sent]


def test_usage_is_told_where_it_is_asked_for():
    events, _ = stream(["One"], "One", stream_options={"include_usage": True})
    usage = json.loads(events[-2])
    assert (usage["choices"], usage["usage"]["total_tokens"]) == ([], 7)
    assert usage["usage"]["prompt_tokens_details"] == {"cached_tokens": 1}


def test_an_engine_that_stops_is_an_event_of_an_error():
    events, _ = stream(["One"], None)
    assert json.loads(events[-1])["error"]["message"] == "the engine stopped"


def test_a_stream_that_nobody_reads_on_ends_its_generation():
    _, scheduler = stream(["One ", "two ", "three"], "One two three", read=2)
    assert scheduler.has_stopped
