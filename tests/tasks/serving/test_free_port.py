"""Starting on a free port, with stand-ins for processes: which failures are worth another port."""

import pytest

from carryover.tasks.serving.process import TRIES, ServerError, start_on_free_port


class Stub:
    def __init__(self, said):
        self._said = said
        self.is_stopped = False

    def wait_until_healthy(self, _timeout_seconds, _tell):
        if self._said:
            raise ServerError(self._said)

    def log_tail(self):
        return self._said

    def stop(self):
        self.is_stopped = True


def started(*said):
    """Start servers that say one thing each as they fail, or nothing where they answer; return those started."""
    left, servers, ports = list(said), [], []

    def start(port):
        ports.append(port)
        servers.append(Stub(left.pop(0)))
        return servers[-1]

    try:
        assert start_on_free_port(start, 1.0) == (servers[-1], ports[-1])
    except ServerError:
        assert servers[-1].is_stopped
        raise
    finally:
        assert left == []
    return servers


def test_a_taken_port_is_worth_another_one():
    first, second = started("[Errno 98] Address already in use", "")
    assert (first.is_stopped, second.is_stopped) == (True, False)


def test_no_other_failure_is_tried_again():
    with pytest.raises(ServerError, match="no such model"):
        started("no such model")


def test_ports_that_are_always_taken_are_told():
    with pytest.raises(ServerError, match="is already in use"):
        started(*["Port 4200 is already in use."] * TRIES)
