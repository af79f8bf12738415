"""Agents that share objects: handed over as data, directed by one of them, or on one interpreter in a defined order."""

import asyncio

import numpy as np
import pytest

from carryover.tasks.agent.events import Observed
from carryover.tasks.agent.protocol import Message
from carryover.tasks.cave.examples import live_home, long_text, newsroom, ten_lines, town
from carryover.tasks.cave.scripted import block, scripted
from carryover.tasks.cave.society import answer_in_turns, hand_over
from carryover.tasks.runtime.objects import RetrievalError
from tests.flattening import flat


def test_object_is_handed_over_and_appears_in_no_text(open_agent, watched):
    model = watched(scripted(block("print(numbers.sum())"), "Done."))
    source, target = open_agent(block("import numpy\nnumbers = numpy.arange(100_000)"), "Made."), open_agent(model)
    source.ask("Make numbers.")
    hand_over("numbers", source, target)
    target.ask("Sum them.")
    assert "4999950000" in model.shown()
    np.testing.assert_array_equal(target.retrieve("numbers"), np.arange(100_000))
    assert max(len(message.content) for message in flat(request.messages for request in model.requests)) < 3000


def test_missing_object_cannot_be_handed_over(open_agent):
    with pytest.raises(RetrievalError, match="no variable 'nothing' is alive"):
        hand_over("nothing", open_agent("unused"), open_agent("unused"))


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


@pytest.mark.parametrize("contract", ["persistent", "stateless"])
def test_example_of_a_long_text_runs_under_both_contracts(contract):
    assert long_text.main(contract) == "It is vermilion."


def test_piece_of_a_long_text_is_answered_by_what_it_holds():
    pieces = ["grey rain", "grey vermilion rain"]
    answers = [long_text.name_colour([Message(role="user", content=piece)]) for piece in pieces]
    assert answers == ["none", "vermilion"]


@pytest.mark.parametrize("contract", ["persistent", "stateless"])
def test_example_of_live_objects_acts_on_those_of_the_host(contract):
    light, player, said = live_home.main(contract)
    assert (light.brightness, player.volume, player.is_playing) == (70, 40, True)
    assert said == "I made it quieter."


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
