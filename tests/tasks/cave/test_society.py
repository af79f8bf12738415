"""Agents that share objects: handed over as data, directed by one of them, or on one interpreter in a defined order."""

import asyncio

import numpy as np
import pandas as pd
import pytest

from carryover.tasks.agent.events import Observed
from carryover.tasks.cave.examples import newsroom, ten_lines, town
from carryover.tasks.cave.scripted import block, scripted
from carryover.tasks.cave.society import answer_in_turns, direct, hand_over
from carryover.tasks.runtime.objects import RetrievalError


def test_object_is_handed_over_and_appears_in_no_text(open_agent, watched):
    model = watched(scripted(block("print(numbers.sum())"), "Done."))
    source, target = open_agent(block("import numpy\nnumbers = numpy.arange(100_000)"), "Made."), open_agent(model)
    source.ask("Make numbers.")
    hand_over("numbers", source, target)
    target.ask("Sum them.")
    assert "4999950000" in model.shown()
    np.testing.assert_array_equal(target.retrieve("numbers"), np.arange(100_000))
    assert max(len(message.content) for request in model.requests for message in request.messages) < 3000


def test_missing_object_cannot_be_handed_over(open_agent):
    with pytest.raises(RetrievalError, match="no variable 'nothing' is alive"):
        hand_over("nothing", open_agent("unused"), open_agent("unused"))


def test_director_gives_asks_and_takes(open_agent, watched, either_runtime):
    calls = 'print(delegate("worker", "Double it.", give=["frame"], take=["doubled"]))'
    model = watched(scripted(block(calls), block("print(doubled.a.tolist())"), "Done."))
    director = open_agent(model, on=either_runtime)
    worker = open_agent(block("doubled = frame * 2"), "It is doubled.", instructions="You double.", on=either_runtime)
    director.inject("frame", pd.DataFrame({"a": [1, 2]}))
    direct(director, {"worker": worker})
    director.ask("Have the frame doubled.")
    assert "- worker: You double." in model.requests[0].messages[0].content
    assert "worker is asked when this block has ended." in model.shown(1)
    assert '<agent name="worker">\nIt is doubled.\nBound here: doubled.\n</agent>' in model.shown(1)
    assert "<output>\n[2, 4]\n</output>" in model.shown()
    assert "frame" not in worker.variables()


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ('delegate("nobody", "Go.")', "unknown agent 'nobody'; choose from worker"),
        ('delegate("worker", "Go.", give=["nothing"])', "could not be passed on: no variable 'nothing' is alive"),
        ('delegate("worker", "Go.", take=["lock"])', "could not be passed on: lock: "),
    ],
)
def test_director_is_told_what_went_wrong(open_agent, watched, call, told):
    model = watched(scripted(block(call), "I see."))
    director = open_agent(model)
    direct(director, {"worker": open_agent(block("import threading\nlock = threading.Lock()"), "Made.")})
    director.ask("Go.")
    assert told in model.shown()


def test_peers_take_turns_in_the_given_order(open_agent):
    class Slow:
        """Answers later than its peers."""

        def __init__(self, model):
            self.model_name, self.token_source, self._model = "slow", "server", model

        async def complete(self, request):
            await asyncio.sleep(0.05)
            return await self._model.complete(request)

    host = open_agent(block("log = []"), "Ready.")
    host.ask("Begin.")
    first = host.peer("first", model=Slow(scripted(block("log.append('a1')"), block("log.append('a2')"), "A.")))
    second = host.peer("second", model=scripted(block("log.append('b1')"), "B."))
    third = host.peer("third", model=scripted(*[block(f"log.append('c{n}')") for n in (1, 2, 3)], "C."))
    order = []
    answers = answer_in_turns(
        [(first, "Go."), (second, "Go."), (third, "Go.")],
        watch=lambda agent, event: order.append(agent.loop_state.name) if isinstance(event, Observed) else None,
    )
    assert [answer.text for answer in answers] == ["A.", "B.", "C."]
    assert host.retrieve("log") == ["a1", "b1", "c1", "a2", "c2", "c3"]
    assert order == ["first", "second", "third", "first", "third", "third"]


def test_peers_asked_at_once_run_one_block_at_a_time(open_agent):
    host = open_agent(block("count = 0"), "Ready.")
    host.ask("Begin.")
    code = "before = count\nfor _ in range(10_000): pass\ncount = before + 1"
    peers = [host.peer(f"peer {number}", model=scripted(block(code), "Done.")) for number in range(8)]

    async def ask_all():
        await asyncio.gather(*(peer.ask_async("Count.") for peer in peers))

    asyncio.run(ask_all())
    assert host.retrieve("count") == 8


def test_example_of_ten_lines_runs():
    assert ten_lines.main().to_dict("list") == {"customer": ["ann", "bob"], "euro": [5.0, 20.0]}


@pytest.mark.slow
def test_example_of_a_newsroom_runs():
    assert newsroom.main().to_dict("list") == {"city": ["bonn", "kiel"], "price": [10.0, 30.0]}


def test_town_agents_share_weather_and_new_places_at_once():
    outputs = []

    def watch(agent, event) -> None:
        if isinstance(event, Observed) and event.result is not None:
            outputs.append((agent.loop_state.name, event.result.output))

    assert set(town.main(watch)) == {"station", "founder", "Lin", "Omar"}
    assert outputs == [
        ("weather station", "weather is now storm\n"),
        ("founder", "['bakery', 'library']\n"),
        ("Lin", "storm stay at home\n"),
        ("Omar", "storm stay at home\n"),
        ("Lin", "Grace\n"),
        ("Omar", "Grace\n"),
    ]
