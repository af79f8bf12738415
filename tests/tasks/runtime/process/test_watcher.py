"""Looking at an episode's memory between steps: who has left or has ended is let alone, and the watcher stays."""

import logging
import threading
from collections.abc import Callable

import pytest

from carryover.tasks.runtime.process.memory import Holdings
from carryover.tasks.runtime.process.node import Node
from carryover.tasks.runtime.process.watcher import WATCHER
from tests.tasks.runtime.process.started import FORKS, Renumbered, has_ended, started


class Recorded(Node):
    """Notes when it is ended."""

    notes: list[str]

    def end(self) -> None:
        self.notes.append("ended")
        super().end()


class Denied(Node):
    """Lets nobody look but the one who asks for it to be watched."""

    is_asked = False

    def process_id(self) -> int:
        if self.is_asked:
            raise PermissionError("not allowed")
        self.is_asked = True
        return super().process_id()


class Interrupted(Holdings):
    """Lets something happen whenever the memory was looked at."""

    def __init__(self, happens: Callable[[], None]) -> None:
        super().__init__()
        self.happens = happens
        self.looked = threading.Event()

    def excess_bytes(self, root_process: int, limit_bytes: int) -> int:
        excess = super().excess_bytes(root_process, limit_bytes)
        self.happens()
        self.looked.set()
        return excess


def test_episode_over_its_memory_ends_with_its_forks():
    with started(FORKS) as (root, child):
        WATCHER.watch(root, 0)
        assert has_ended(root.handle)
        assert has_ended(child)


def test_episode_that_is_left_during_a_look_is_let_alone():
    with started() as (root, _):
        root.holdings = holdings = Interrupted(lambda: WATCHER.leave(root))
        WATCHER.watch(root, 0)
        assert holdings.looked.wait(60)
        assert not has_ended(root.handle, 0.2)


def test_who_leaves_while_an_episode_is_ended_waits_for_that():
    with started(kind=Recorded) as (root, _):
        assert isinstance(root, Recorded)
        root.notes = []

        def leave() -> None:
            WATCHER.leave(root)
            root.notes.append("left")

        class Interrupts(logging.Handler):
            """Begins a step when the decision to end the episode is made."""

            def emit(self, record: logging.LogRecord) -> None:
                leaving.start()
                leaving.join(0.2)

        leaving = threading.Thread(target=leave)
        logger = logging.getLogger("carryover.tasks.runtime.process.watcher")
        handler = Interrupts()
        logger.addHandler(handler)
        try:
            WATCHER.watch(root, 0)
            assert has_ended(root.handle)
            leaving.join()
        finally:
            logger.removeHandler(handler)
        assert root.notes == ["ended", "left"]


def test_reused_number_of_an_ended_root_ends_nobody():
    with started(FORKS) as (innocent, child), started(kind=Renumbered) as (root, _):
        assert isinstance(root, Renumbered)
        root.end()
        assert has_ended(root.handle)
        root.other = innocent
        root.holdings = holdings = Interrupted(lambda: None)
        WATCHER.watch(root, 0)
        assert holdings.looked.wait(60)
        assert not has_ended(innocent.handle, 0.2)
        assert not has_ended(child, 0)


def test_refused_look_is_told_and_the_others_go_on(caplog: pytest.LogCaptureFixture):
    with started(kind=Denied) as (denied, _), started() as (root, _):
        WATCHER.watch(denied, 0)
        WATCHER.watch(root, 0)
        assert has_ended(root.handle)
        assert denied.is_alive()
        WATCHER.leave(denied)
    assert "could not be read: not allowed" in caplog.text


def test_closed_episode_is_looked_at_no_more(open_one, roots):
    interpreter = open_one("persistent")
    interpreter.run_block("1")
    (root,) = roots
    root.holdings = holdings = Interrupted(lambda: None)
    assert holdings.looked.wait(60)
    interpreter.close()
    holdings.looked.clear()
    assert not holdings.looked.wait(2)  # the second look is due half a second after the first
