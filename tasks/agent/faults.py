"""Faults that the harness injects into teacher episodes, so that a trace can show a repair without teaching an error.

Whether a step meets a fault is a function of instance and step alone, so both contracts meet theirs at the same steps.
What the fault is depends on the block: a binding that it is about to read is dropped, or, where it reads none (a
stateless block never does), a tool that it calls fails once. Both end the block with an error.
"""

import random
from collections.abc import Callable

from carryover.tasks.runtime.results import BlockResult
from carryover.tasks.services.frozen_model import FrozenModel
from carryover.tasks.traces.events import parse_block


class FaultSpec(FrozenModel):
    """Settings of injected faults."""

    rate: float = 0.15
    """Chance of a fault at a step of an ordinary episode."""
    storm_share: float = 0.1
    """Share of episodes in which faults strike most steps, so that repair follows repair."""
    storm_rate: float = 0.85
    """Chance of a fault at a step of such an episode."""
    maximum: int = 6
    """Faults per episode, so that a storm ends."""
    tool: str = "list_items"
    """The tool that fails: one that costs nothing, and whose error no block expects."""


class FaultInjector:
    """Injects one episode's faults: `before_step`, then the block runs, then `after_step`."""

    def __init__(self, spec: FaultSpec, instance_id: str) -> None:
        self._spec = spec
        self._instance_id = instance_id
        is_storm = random.Random(f"storm {instance_id}").random() < spec.storm_share
        self._rate = spec.storm_rate if is_storm else spec.rate
        self._count = 0
        self._armed: str | None = None

    def before_step(
        self,
        step: int,
        code: str,
        active_globals: tuple[str, ...],
        drop_name: Callable[[str], bool],
        fail_next: Callable[[str], None],
    ) -> None:
        """Arm the fault of a step, if it is due and the block can meet one.

        `active_globals` are the user names alive when the step starts; `drop_name` removes one, and tells whether it
        was there. `fail_next` makes the next call of a tool fail once.
        """
        draw = random.Random(f"fault {self._instance_id} {step}")
        if draw.random() >= self._rate or self._count >= self._spec.maximum:
            return
        parsed = parse_block(code, (self._spec.tool,))
        bound: set[str] = set()
        names: dict[str, None] = {}
        for event in parsed.events:
            if event.kind == "bind":
                bound.add(event.name)
            elif event.kind == "read" and event.name not in bound and event.name in active_globals:
                names[event.name] = None
        if names:
            name = draw.choice(list(names))
            if drop_name(name):
                self._armed = f"drop:{name}"
        elif any(event.kind == "call_site" for event in parsed.events):
            fail_next(self._spec.tool)
            self._armed = f"fail:{self._spec.tool}"

    def after_step(self, result: BlockResult, disarm: Callable[[], bool]) -> str | None:
        """Return the fault that the step met as `drop:NAME` or `fail:TOOL`, or none.

        `disarm` takes back a failure that no call has met, and tells whether there was one.
        """
        armed, self._armed = self._armed, None
        if armed is None:
            return None
        kind, _, target = armed.partition(":")
        if kind == "fail":
            has_struck = not disarm()
        else:
            error = result.error
            has_struck = error is not None and error.type == "NameError" and target in error.message
        self._count += has_struck
        return armed if has_struck else None
