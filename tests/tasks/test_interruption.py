"""Work of a run that the keyboard interrupts does not begin."""

import pytest

from carryover.storage.zone.landing import LandingZone
from carryover.tasks.collect import collect_episodes
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits
from carryover.tasks.plans.shards import teacher_shards
from carryover.tasks.services.limits import InterruptedRunError, interrupt
from carryover.tasks.stages.runs import start_run

PLAN = resolve_plan("smoke")
(PART,) = PLAN.parts


def test_queued_episodes_of_an_interrupted_run_do_not_start(tmp_path, monkeypatch):
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path))
    with start_run("toy", PLAN, Limits()) as run:
        interrupt(run.run_id)
        with pytest.raises(InterruptedRunError, match=f"run {run.run_id} is interrupted"):
            collect_episodes.fn(run, teacher_shards(run, PART, None)[0])
    assert LandingZone(run.landing).read("episodes").num_rows == 0
