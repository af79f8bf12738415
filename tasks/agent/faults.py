"""Faults that the harness injects into teacher episodes.

A trace can so show a repair without teaching an error.

Whether a step meets a fault is a function of instance and step alone, so both contracts meet theirs at the same steps.
What the fault is depends on the block: a binding that it is about to read is dropped, or, where it reads none (a
stateless block never does), a tool that it calls fails once. Both end the block with an error.
"""

import functools
import random
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from carryover.tasks.runtime.inside.tools import ToolRuntimeException
from carryover.tasks.runtime.results import BlockResult
from carryover.tasks.services.frozen_model import FrozenModel
from carryover.tasks.traces.events import parse_block
from carryover.tasks.traces.walker import NameEvent

UNAVAILABLE = "is temporarily unavailable."
"""End of the message of a failure that was injected."""


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


class FailingTools:
    """Tools whose next call can be made to fail."""

    def __init__(self, tools: Mapping[str, Callable[..., Any]]) -> None:
        self.tools = {name: self._guarded(name, tool) for name, tool in tools.items()}
        """The tools by name, with the signatures and documentation that they had."""
        self._failing: str | None = None

    def fail_next(self, tool: str) -> None:
        """Make the next call of a tool fail once, whatever its arguments."""
        if tool not in self.tools:
            raise ValueError(f"unknown tool {tool!r}; choose from {', '.join(self.tools)}")
        self._failing = tool

    def disarm(self) -> bool:
        """Take back an unmet failure; tell whether there was one."""
        was_armed = self._failing is not None
        self._failing = None
        return was_armed

    def _guarded(self, name: str, tool: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(tool)
        def call(*arguments: Any, **keywords: Any) -> Any:
            if self._failing == name:
                self._failing = None
                raise ToolRuntimeException(f"{name} {UNAVAILABLE}")
            return tool(*arguments, **keywords)

        return call


class FaultInjector:
    """Injects one episode's faults: `before_step`, then the block runs, then `after_step`."""

    def __init__(self, spec: FaultSpec, instance_id: str, tools: FailingTools) -> None:
        self._spec = spec
        self._instance_id = instance_id
        self._tools = tools
        is_storm = random.Random(f"storm {instance_id}").random() < spec.storm_share
        self._rate = spec.storm_rate if is_storm else spec.rate
        self._count = 0
        self._armed: str | None = None

    def before_step(
        self, step: int, code: str, active_globals: tuple[str, ...], drop_name: Callable[[str], bool]
    ) -> str | None:
        """Arm a step's fault if due; return a dropped name.

        `active_globals` are the user names alive when the step starts; `drop_name` removes one, and tells whether it
        was there.
        """
        draw = random.Random(f"fault {self._instance_id} {step}")
        is_due = draw.random() < self._rate and self._count < self._spec.maximum
        if not is_due:
            return None
        parsed = parse_block(code, (self._spec.tool,))
        names = _names_read(parsed.events, active_globals)
        if names:
            return self._drop(draw.choice(names), drop_name)
        if any(event.kind == "call_site" for event in parsed.events):
            self._tools.fail_next(self._spec.tool)
            self._armed = f"fail:{self._spec.tool}"
        return None

    def after_step(self, result: BlockResult) -> str | None:
        """Return the met fault as `drop:NAME` or `fail:TOOL`, or none."""
        armed = self._armed
        self._armed = None
        if armed is None:
            return None
        kind, _, target = armed.partition(":")
        if kind == "fail":
            has_struck = not self._tools.disarm()
        else:
            error = result.error
            has_struck = error is not None and error.type == "NameError" and target in error.message
        if not has_struck:
            return None
        self._count += 1
        return armed

    def _drop(self, name: str, drop_name: Callable[[str], bool]) -> str | None:
        if not drop_name(name):
            return None
        self._armed = f"drop:{name}"
        return name


def _names_read(events: Iterable[NameEvent], active_globals: tuple[str, ...]) -> list[str]:
    """Return the living names that a block reads before binding."""
    bound: set[str] = set()
    names: dict[str, None] = {}
    for event in events:
        if event.kind == "bind":
            bound.add(event.name)
        elif event.kind == "read" and event.name not in bound and event.name in active_globals:
            names[event.name] = None
    return list(names)
