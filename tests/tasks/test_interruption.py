"""Work of a run that the keyboard interrupts does not begin."""

import pytest

from carryover.storage.study.runs import start_run
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.agent.client import ScriptedClientSpec
from carryover.tasks.collect import collect_episodes
from carryover.tasks.plans.presets import resolve_plan
from carryover.tasks.plans.run import Limits
from carryover.tasks.plans.spec import teacher_conditions
from carryover.tasks.running.interruption import InterruptedRunError, interrupt

PLAN = resolve_plan("smoke")
(PART,) = PLAN.parts


def test_queued_episodes_of_an_interrupted_run_do_not_start(tmp_path, monkeypatch):
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path))
    with start_run("toy", PLAN, Limits()) as run:
        interrupt(run.run_id)
        with pytest.raises(InterruptedRunError, match=f"run {run.run_id} is interrupted"):
            collect_episodes.fn(
                run,
                next(teacher_conditions(PART)),
                instances=PART.train_instances,
                episode=PART.teacher.episode,
                client=ScriptedClientSpec(concurrency=1),
            )
    assert LandingZone(run.landing).read("episodes").num_rows == 0
