"""The study's side of an episode: its interpreter ends, whatever fails beside it."""

import asyncio
import copy

import pytest

from carryover.tasks.agent.episode import PlannedEpisode, open_speaker
from carryover.tasks.agent.recorder import EpisodeRecorder
from carryover.tasks.knapsack.family import KNAPSACK_FAMILY
from carryover.tasks.runtime.interpreter import Interpreter
from tests.tasks.agent.playing import INSTANCE, Model, make_context


class FullRecorder(EpisodeRecorder):
    """A recorder that takes no event of the runtime."""

    def record_runtime_events(self) -> None:
        raise RuntimeError("no space left")


def test_a_speaker_that_never_opened_closes_nothing(runtime):
    speaker = open_speaker(make_context(runtime, Model("")), PlannedEpisode(INSTANCE), KNAPSACK_FAMILY.open(INSTANCE))
    asyncio.run(speaker.close(FullRecorder("run", "episode"), None))


def test_interpreter_ends_although_its_last_events_cannot_be_recorded(runtime):
    opened: list[Interpreter] = []
    open_interpreter = runtime.open_interpreter
    noting = copy.copy(runtime)
    noting.open_interpreter = lambda *a, **options: opened.append(open_interpreter(*a, **options)) or opened[-1]
    context = make_context(noting, Model("never asked"))
    recorder = FullRecorder("run", "episode")

    async def open_and_close() -> None:
        speaker = open_speaker(context, PlannedEpisode(INSTANCE), KNAPSACK_FAMILY.open(INSTANCE))
        speaker.open(noting, recorder, salt="", opening_threads=None, block_threads=None)
        await speaker.close(recorder, None)

    with pytest.raises(RuntimeError, match="no space left"):
        asyncio.run(open_and_close())
    (interpreter,) = opened
    with pytest.raises(ValueError, match="the interpreter is closed"):
        interpreter.run_block("1")
