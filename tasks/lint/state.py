"""State beyond names, followed from block to block."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from carryover.tasks.lint.shell import Effect

Key = tuple[str, str]


class Carried(NamedTuple):
    """A read of state that an earlier block left."""

    channel: str
    name: str


class StateWalk:
    """State beyond names, block after block."""

    def __init__(self) -> None:
        self._left: set[Key] = set()

    def enter(self, effects: Iterable[Effect]) -> list[Carried]:
        """Return what a block takes from others; add what it leaves."""
        own: set[Key] = set()
        cleared: set[Key] = set()
        carried: dict[Carried, None] = {}
        for effect in effects:
            key = _key(effect)
            match effect.kind:
                case "set":
                    own.add(key)
                case "clear":
                    own.discard(key)
                    cleared.add(key)
                case "read":
                    name = self._left_before(effect, own, cleared)
                    if name is not None:
                        carried[Carried(effect.channel, name)] = None
        self._left = (self._left - cleared) | own
        return list(carried)

    def _left_before(self, effect: Effect, own: set[Key], cleared: set[Key]) -> str | None:
        """Return the name of the earlier state that is read."""
        for name in _names_of(effect):
            key = _key(effect._replace(name=name))
            if key in own:
                return None
            if key in self._left - cleared:
                return name
        return None


def _names_of(effect: Effect) -> Iterator[str]:
    """Yield an effect's name, and a file's folders, nearest first."""
    yield effect.name
    folder = effect.name.rpartition("/")[0]
    while effect.channel == "files" and folder:
        yield folder
        folder = folder.rpartition("/")[0]


def _key(effect: Effect) -> Key:
    """Return an effect's subject: one directory, or any process."""
    return (effect.channel, "" if effect.channel in ("directory", "processes") else effect.name)
