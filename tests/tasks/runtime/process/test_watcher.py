"""Looking at an episode's memory between steps: who has left or has ended is let alone, and the watcher stays."""

import logging
import threading

import pytest

from carryover.tasks.runtime.process.node import Node
from carryover.tasks.runtime.process.watcher import WATCHER, Watcher, _Watched
from tests.tasks.runtime.process.started import FORKS, has_ended, started


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


def look(watcher: Watcher, root: Node) -> None:
    """Look at an episode that may hold nothing, as the watcher's thread would."""
    watched = watcher._watched[root] = _Watched(0, 0, 0)
    watcher._look(root, watched)


def test_episode_that_holds_too_much_ends_with_all_that_it_forked():
    with started(FORKS) as (root, child):
        look(Watcher(), root)
        assert has_ended(root.handle)
        assert has_ended(child)


def test_episode_that_was_left_is_let_alone():
    with started() as (root, _):
        watcher = Watcher()
        watched = watcher._watched[root] = _Watched(0, 0, 0)
        watcher.leave(root)
        watcher._look(root, watched)
        assert not has_ended(root.handle, 0.2)


def test_who_leaves_while_an_episode_is_ended_waits_for_that():
    with started(kind=Recorded) as (root, _):
        assert isinstance(root, Recorded)
        root.notes = []
        watcher = Watcher()

        def leave() -> None:
            watcher.leave(root)
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
            look(watcher, root)
            leaving.join()
        finally:
            logger.removeHandler(handler)
        assert root.notes == ["ended", "left"]


def test_number_of_an_ended_root_that_is_anothers_by_now_ends_nobody():
    with started(FORKS) as (innocent, child), started() as (root, _):
        root.end()
        assert has_ended(root.handle)
        root._process_id = innocent.process_id()
        look(Watcher(), root)
        assert not has_ended(innocent.handle, 0.2)
        assert not has_ended(child, 0)


def test_refused_look_is_told_and_the_others_go_on(caplog: pytest.LogCaptureFixture):
    watcher = Watcher()
    with started(kind=Denied) as (denied, _), started() as (root, _):
        watcher.watch(denied, 0)
        watcher.watch(root, 0)
        assert has_ended(root.handle)
        assert denied.is_alive()
        watcher.leave(denied)
    assert "could not be read: not allowed" in caplog.text


def test_closed_episode_is_looked_at_no_more(open_one):
    interpreter = open_one("persistent")
    interpreter.run_block("1")
    engine = interpreter._state.engine
    root = engine._kernel.keeper if hasattr(engine, "_kernel") else engine._root.node
    assert root in WATCHER._watched
    interpreter.close()
    assert root not in WATCHER._watched
