"""One user of an interpreter at a time, and its end."""

import threading

import pytest

from carryover.tasks.runtime.engine import BusyError
from carryover.tasks.runtime.exclusive import ExclusiveUse


@pytest.fixture
def notes() -> list[str]:
    return []


@pytest.fixture
def use(notes) -> ExclusiveUse:
    return ExclusiveUse(lambda: notes.append("stopped"), lambda: notes.append("ended"))


def test_second_user_is_refused_until_the_first_has_left(use, notes):
    for runs_block in (True, False):
        with use.alone(runs_block=runs_block):
            second = use.alone()
            with pytest.raises(BusyError, match="the interpreter is busy: a block runs, or another thread uses it"):
                second.__enter__()
    with use.alone():
        pass
    assert notes == []


def test_closed_interpreter_ends_once_and_has_no_user(use, notes):
    use.close()
    use.close()
    assert (notes, use.is_closed) == (["ended"], True)
    for _ in range(2):
        with pytest.raises(ValueError, match="the interpreter is closed; open another one"), use.alone():
            notes.append("used")
    assert notes == ["ended"]


def test_block_that_closes_its_interpreter_ends_it_afterwards(use, notes):
    with use.alone(runs_block=True):
        use.close()
        use.close()
        notes.append("goes on")
    assert notes == ["goes on", "ended"]


@pytest.mark.parametrize("runs_block", [True, False])
def test_other_thread_stops_what_runs_and_ends_it_after(notes, runs_block):
    stopped = threading.Event()

    def stop() -> None:
        notes.append("stopped")
        stopped.set()

    use = ExclusiveUse(stop, lambda: notes.append("ended"))
    closing = threading.Thread(target=use.close)
    with use.alone(runs_block=runs_block):
        closing.start()
        assert stopped.wait(60)
        notes.append("left")
    closing.join()
    assert notes == ["stopped", "left", "ended"]


def test_error_of_a_user_leaves_the_interpreter_free(use):
    with pytest.raises(KeyError), use.alone(runs_block=True):
        raise KeyError
    with use.alone():
        pass
