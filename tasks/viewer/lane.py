"""The state lane: what became of each name, step by step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

from carryover.tasks.readers.outputs import missing_name

Row = Mapping[str, Any]


class MissingName(NamedTuple):
    """A block that ended because a name was gone or never there."""

    turn: int
    step: int
    name: str
    lost_step: int | None
    """Step at whose end the name was lost; null where none is known to have lost it."""
    bound_step: int | None
    """Last step before that bound it; null where none had."""
    is_injected: bool


class LaneCell(NamedTuple):
    """A name in one step."""

    step: int
    is_alive: bool
    """Whether the name was there when the step started."""
    is_kept: bool
    """Whether it was there after the step."""
    marks: tuple[str, ...]
    """`bound`, `rebound`, `read`, `lost`, `missing`, `gone`: the last two are reads of a name that was not there, of
    which only the first raised."""


class LaneName(NamedTuple):
    """A name with its cells, where steps hold or touch it."""

    name: str
    is_definition: bool
    cells: tuple[LaneCell, ...]


class Lane(NamedTuple):
    """The names of an episode in order, and the missed reads."""

    names: tuple[LaneName, ...]
    missing: tuple[MissingName, ...]


def state_lane(steps: Sequence[Row], events: Sequence[Row], errors: Sequence[Row]) -> Lane:
    """Return the lane of an episode from its rows, each in order."""
    touches = _touches(events)
    missed = _missed(errors)
    cells: dict[str, list[LaneCell]] = {}
    for step in steps:
        block = _Block(step, touches.get(step["step"], {}), missed.get(step["step"], {}))
        for name in block.names():
            cell = block.cell(name, cells.get(name, ()))
            if cell.is_alive or cell.is_kept or cell.marks:
                cells.setdefault(name, []).append(cell)
    definitions = {event["name"] for event in events if event["is_definition"]}
    names = tuple(LaneName(name, name in definitions, tuple(found)) for name, found in cells.items())
    return Lane(names, tuple(_missing_names(missed, cells)))


@dataclass
class _Touch:
    """Use of a name by a block."""

    is_bound: bool = False
    is_read: bool = False
    needs_earlier: bool = False
    """Whether a read comes before the block binds the name."""


def _touches(events: Sequence[Row]) -> dict[int, dict[str, _Touch]]:
    """Return what the blocks do with names, by step and name."""
    touches: dict[int, dict[str, _Touch]] = {}
    for event in events:
        if event["kind"] not in ("bind", "read"):
            continue
        touch = touches.setdefault(event["step"], {}).setdefault(event["name"], _Touch())
        if event["kind"] == "bind":
            touch.is_bound = True
            continue
        touch.is_read = True
        # A function's body is evaluated when it is called, by when the block may have bound the name.
        if not touch.is_bound and not event["is_deferred"]:
            touch.needs_earlier = True
    return touches


def _missed(errors: Sequence[Row]) -> dict[int, dict[str, Row]]:
    """Return the errors about missing names by step and name."""
    missed: dict[int, dict[str, Row]] = {}
    for error in errors:
        is_about_name = error["is_missing_name"] or error["is_injected_missing_name"]
        name = missing_name(error["message"])
        if is_about_name and name and error["step"] is not None:
            missed.setdefault(error["step"], {}).setdefault(name, error)
    return missed


@dataclass
class _Block:
    """A step with what it does with names."""

    step: Row
    touched: Mapping[str, _Touch]
    missed: Mapping[str, Row]

    def names(self) -> list[str]:
        """Return the names that the step holds or touches, in order."""
        before = self.step["active_globals_before"]
        after = self.step["last_step_globals"]
        return list(dict.fromkeys(chain(before, self.touched, self.missed, after)))

    def cell(self, name: str, before: Sequence[LaneCell]) -> LaneCell:
        """Return a name's cell; `before` are its cells in earlier steps."""
        is_alive = name in self.step["active_globals_before"]
        is_kept = name in self.step["active_globals"]
        is_bound = self._binds(name)
        marks = [self._read_mark(name, before, is_alive=is_alive)]
        if is_bound:
            marks.append("rebound" if is_alive else "bound")
        was_there = is_alive or is_bound or name in self.step["last_step_globals"]
        if self._is_known and was_there and not is_kept:
            marks.append("lost")
        return LaneCell(self.step["step"], is_alive, is_kept, tuple(filter(None, marks)))

    @property
    def _is_known(self) -> bool:
        """Whether the names after the step were recorded."""
        return self.step["state_event"] != "unknown"

    def _binds(self, name: str) -> bool:
        """Tell whether the block bound a name; errors may prevent it."""
        touch = self.touched.get(name)
        if touch is None or not touch.is_bound:
            return False
        if not self._is_known:
            return self.step["error"] is None
        return name in self.step["active_globals"] or name in self.step["last_step_globals"]

    def _read_mark(self, name: str, before: Sequence[LaneCell], *, is_alive: bool) -> str:
        if name in self.missed:
            return "missing"
        touch = self.touched.get(name)
        if touch is None or not touch.is_read:
            return ""
        if is_alive:
            return "read"
        if not touch.needs_earlier:
            return ""
        if not self._is_known:
            return "read" if before else ""
        was_lost = any("lost" in cell.marks for cell in before)
        return "gone" if was_lost else ""


def _missing_names(
    missed: Mapping[int, Mapping[str, Row]], cells: Mapping[str, Sequence[LaneCell]]
) -> list[MissingName]:
    found = []
    for step, errors in sorted(missed.items()):
        for name, error in errors.items():
            before = [cell for cell in cells.get(name, ()) if cell.step < step]
            found.append(
                MissingName(
                    turn=error["turn"],
                    step=step,
                    name=name,
                    lost_step=_last_step(before, {"lost"}),
                    bound_step=_last_step(before, {"bound", "rebound"}),
                    is_injected=error["is_injected_missing_name"],
                )
            )
    return found


def _last_step(cells: Sequence[LaneCell], marks: set[str]) -> int | None:
    return max((cell.step for cell in cells if marks & {*cell.marks}), default=None)
