import os

from carryover.tasks.runtime.inside.shared import _opened, _poll_of


def test_a_pipe_that_its_writer_left_is_open():
    first, second = os.pipe()
    poll = _poll_of(first, first + 1)
    os.close(second)
    assert _opened(poll, first, first + 1) == {first}
    os.close(first)
    assert _opened(poll, first, first + 1) == set()
