"""A training that was handed to the work pool ends with whoever waits for it."""

from signal import SIGTERM
from typing import Any
from uuid import UUID

import httpx
import pytest
from prefect.client.schemas.objects import FlowRun
from prefect.exceptions import TerminationSignal
from prefect.states import Completed, Pending, Running

from carryover.flows.gpu_pool import CHECKS_WITHOUT_WORKER, LOOKS_PER_CHECK, SECONDS_PER_LOOK, wait_for_end
from carryover.tasks.services.errors import UserError

TRAINING = UUID(int=1)


class Server:
    """Answers with one state after the other, and remembers what it is told."""

    def __init__(self, *states, is_gone=False):
        self.states = list(states)
        self.is_gone = is_gone
        self.told = []

    def read_flow_run(self, flow_run_id):
        assert flow_run_id == TRAINING
        state = self.states.pop(0)
        if isinstance(state, Exception):
            raise state
        return FlowRun(flow_id=UUID(int=2), state=state)

    def set_flow_run_state(self, flow_run_id, state):
        if self.is_gone:
            raise httpx.ConnectError("connection refused")
        self.told.append((flow_run_id, state.name))


def interrupt():
    raise KeyboardInterrupt


def wait(server: Any, pause, lacks=lambda: None):
    return wait_for_end(server, TRAINING, pause, lacks)


def terminate():
    raise TerminationSignal(SIGTERM)


def test_a_training_is_waited_for_until_it_ends():
    pauses = []
    server = Server(None, Pending(), Running(), Completed())
    assert wait(server, lambda: pauses.append(1)).is_completed()
    assert len(pauses) == 3
    assert server.told == []


@pytest.mark.parametrize(("stop", "error"), [(interrupt, KeyboardInterrupt), (terminate, TerminationSignal)])
def test_signal_cancels_the_training_on_the_work_pool(capsys, stop, error):
    server = Server(Running())
    with pytest.raises(error):
        wait(server, stop)
    assert server.told == [(TRAINING, "Cancelling")]
    assert "stopping: the training on the work pool 'gpu' is cancelled" in " ".join(capsys.readouterr().err.split())


def test_a_server_that_fails_cancels_no_training():
    server = Server(Running(), httpx.ReadTimeout("no answer"))
    with pytest.raises(httpx.ReadTimeout):
        wait(server, lambda: None)
    assert server.told == []


def test_unreachable_server_names_the_command_that_cancels(capsys):
    with pytest.raises(KeyboardInterrupt):
        wait(Server(Running(), is_gone=True), interrupt)
    assert f"prefect flow-run cancel {TRAINING} ends it" in " ".join(capsys.readouterr().err.split())


def test_pool_without_worker_is_reported_within_a_minute(capsys):
    server = Server(*[Pending()] * (3 * LOOKS_PER_CHECK), Completed())
    assert LOOKS_PER_CHECK * SECONDS_PER_LOOK < 60
    found = iter(["an online worker", "an online worker", None])
    assert wait(server, lambda: None, lambda: next(found)).is_completed()
    assert capsys.readouterr().err.count("training is waiting; missing: an online worker") == 2
    assert server.told == []


def test_a_pool_that_stays_without_a_worker_ends_the_wait():
    server = Server(*[Pending()] * (LOOKS_PER_CHECK * CHECKS_WITHOUT_WORKER))
    with pytest.raises(UserError, match="training cancelled after an hour; missing: an online worker"):
        wait(server, lambda: None, lambda: "an online worker")
    assert server.told == [(TRAINING, "Cancelling")]
