"""A flow that the keyboard interrupts ends its work as at a limit, and the same command goes on."""

import signal
import time

import pytest

from storage.landing import LandingZone
from tests.flows.flow_process import start_flow

COUNT = 150
OPTIONS = ("--scale", "smoke", "--train-count", str(COUNT))


@pytest.mark.prefect
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_an_interrupted_flow_keeps_its_episodes_and_goes_on(tmp_path):
    zone = LandingZone(tmp_path / "landing")
    flow = start_flow(tmp_path, "collect_traces", *OPTIONS)
    while flow.poll() is None and zone.read("episodes").num_rows == 0:
        time.sleep(0.05)
    flow.send_signal(signal.SIGINT)
    _, said = flow.communicate()
    assert flow.returncode == 130, said
    assert said.splitlines()[-1] == "stopped; the same command goes on where this one stopped"
    episodes = zone.scan("episodes").collect()
    assert 0 < len(episodes) < 2 * COUNT
    assert set(episodes["finish_reason"]) == {"finish_tool"}
    (end,) = zone.read("run_ends").to_pylist()
    assert (end["status"], end["message"]) == ("stopped", "interrupted from the keyboard")

    again = start_flow(tmp_path, "collect_traces", *OPTIONS)
    _, said = again.communicate()
    assert again.returncode == 0, said
    assert zone.read("episodes").num_rows == 2 * COUNT
