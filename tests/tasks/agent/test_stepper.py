"""The interpreter's side of an episode, where recording fails."""

import copy

import pytest

from carryover.tasks.agent.episode_spec import EpisodeSpec
from carryover.tasks.agent.recorder import EpisodeRecorder
from carryover.tasks.agent.stepper import Stepper
from carryover.tasks.agent.variation import Variation
from carryover.tasks.knapsack.environment import KnapsackEnvironment
from carryover.tasks.runtime.interpreter import Interpreter
from tests.tasks.agent.playing import INSTANCE, make_condition


class FullRecorder(EpisodeRecorder):
    """A recorder that takes no event of the runtime."""

    def record_runtime_event(
        self, step: int, kind: str, name: str | None = None, detail_json: str | None = None
    ) -> None:
        raise OSError("no space left")


def test_interpreter_ends_although_its_last_events_cannot_be_recorded(runtime):
    stepper = Stepper(
        KnapsackEnvironment(INSTANCE),
        make_condition(),
        FullRecorder("run", "episode"),
        variation=Variation(None, "standard"),
        faults=None,
        instance_id="instance",
    )
    opened: list[Interpreter] = []
    open_interpreter = runtime.open_interpreter
    noting = copy.copy(runtime)
    noting.open_interpreter = lambda *a, **options: opened.append(open_interpreter(*a, **options)) or opened[-1]
    stepper.open(noting, EpisodeSpec(), salt="")
    (interpreter,) = opened
    interpreter.snapshot().close()
    with pytest.raises(OSError, match="no space left"):
        stepper.close()
    with pytest.raises(ValueError, match="the interpreter is closed"):
        interpreter.run_block("1")
