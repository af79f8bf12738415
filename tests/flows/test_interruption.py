"""A flow that the keyboard or SIGTERM stops ends its work as at a limit, and the same command goes on."""

import signal

import pytest

from carryover.storage.zone.landing import LandingZone
from tests.flows.flow_process import start_flow, start_python

COUNT = 150
OPTIONS = ("--scale", "smoke", "--train-count", str(COUNT))
STOPPED_FLOW = """
import os
import signal
import threading

from carryover.flows.cli.command import run_as_command
from carryover.flows.collect_traces import collect_traces
from carryover.storage.zone.landing import LandingZone

write = LandingZone.write
unsent = threading.Lock()


def write_and_be_stopped(*arguments):
    landed = write(*arguments)
    if landed.file("episodes") and unsent.acquire(blocking=False):  # a second signal ends the process at once
        os.kill(os.getpid(), signal.%s)
    return landed


LandingZone.write = write_and_be_stopped
run_as_command(collect_traces)
"""
"""The flow, sent a signal with the first episodes that it lands."""


@pytest.mark.prefect
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_stopped_flow_keeps_its_episodes_and_resumes(tmp_path):
    zone = LandingZone(tmp_path / "landing")
    instances = start_flow(tmp_path, "stage generate-instances", *OPTIONS)
    instances.communicate()
    assert instances.returncode == 0
    code, said = stop_flow(tmp_path, zone, signal.SIGINT)
    assert code == 130, said
    assert said.splitlines()[-1] == "carryover: stopped; the same command resumes the run"
    ends = zone.scan("run_ends").sort("finished_at").collect()
    assert ends.select("status", "message").row(1) == ("stopped", "interrupted from the keyboard")

    code, said = stop_flow(tmp_path, zone, signal.SIGTERM)
    assert code == -signal.SIGTERM, said
    assert "stopping: trainings stop now, running episodes finish first" in said
    ends = zone.scan("run_ends").sort("finished_at").collect()
    assert ends.row(2, named=True)["message"] == "ended by TerminationSignal"
    assert list(ends["status"]) == ["finished", "stopped", "stopped"]

    again = start_flow(tmp_path, "stage collect-traces", *OPTIONS)
    _, said = again.communicate()
    assert again.returncode == 0, said
    assert len(teacher_episodes(zone)) == 2 * COUNT


def teacher_episodes(zone):
    return zone.scan("episodes").filter(purpose="teacher").collect()


def stop_flow(home, zone, sent):
    """Send the flow a signal once it has landed episodes, and give its exit code and what it said."""
    before = len(teacher_episodes(zone))
    flow = start_python(home, "-c", STOPPED_FLOW % sent.name, *OPTIONS)
    _, said = flow.communicate()
    episodes = teacher_episodes(zone)
    assert before < len(episodes) < 2 * COUNT
    assert set(episodes["finish_reason"]) == {"finish_tool"}
    return flow.returncode, said
