"""A study that is killed goes on where it stopped: nothing is lost, nothing is doubled."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from storage.landing import LandingZone
from storage.warehouse import Warehouse

ROOT = Path(__file__).parents[2]
STUDY = ["--scale", "smoke", "--train-count", "12", "--evaluation-count", "2"]


def start(home):
    environment = {key: value for key, value in os.environ.items() if key != "PREFECT_API_URL"}
    return subprocess.Popen(
        [sys.executable, "-m", "flows.reproduce_study", *STUDY],
        cwd=ROOT,
        env=environment | {"CARRYOVER_HOME": str(home)},
        stdout=subprocess.PIPE,
        stderr=(home.parent / "said.txt").open("a"),
        text=True,
    )


def landed_purposes(home):
    """How many episodes have landed, by purpose, and how many trainings."""
    zone = LandingZone(home / "landing")
    episodes = dict(zone.scan("episodes").collect()["purpose"].value_counts().iter_rows())
    return episodes.get("teacher", 0), zone.read("training_runs").num_rows, episodes.get("evaluation", 0)


def kill_when(home, is_reached):
    """Start the study, kill it with SIGKILL as soon as it has landed enough, and wait for its end."""
    process = start(home)
    while process.poll() is None and not is_reached(*landed_purposes(home)):
        time.sleep(0.05)
    assert process.poll() is None, (home.parent / "said.txt").read_text()[-8000:]
    process.send_signal(signal.SIGKILL)
    process.wait()


@pytest.mark.prefect
@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_a_study_killed_in_every_stage_ends_with_every_row_once(tmp_path):
    home = tmp_path / "data"
    kill_when(home, lambda teacher, trainings, evaluation: teacher > 0)
    kill_when(home, lambda teacher, trainings, evaluation: trainings > 0)
    kill_when(home, lambda teacher, trainings, evaluation: evaluation > 0)
    last = start(home)
    printed, _ = last.communicate()
    assert last.returncode == 0, (home.parent / "said.txt").read_text()[-8000:]

    with Warehouse.open(home / "warehouse.duckdb") as warehouse:
        episodes = dict(warehouse.sql("select purpose, count(*) from episodes group by purpose").rows())
        (steps,) = warehouse.sql(
            "select sum(step_count), (select count(*) from steps), count(distinct episode_id), count(*) from episodes"
        ).rows()
        trainings = warehouse.sql(
            "select contract, count(*) from training_runs group by contract order by contract"
        ).rows()
        ends = dict(warehouse.sql("select status, count(*) from run_ends group by status").rows())
        runs = warehouse.sql("select count(*) from runs where flow = 'reproduce_study'").rows()
    assert episodes == {"teacher": 24, "evaluation": 12}
    assert steps[0] == steps[1]
    assert steps[2] == steps[3] == 36
    assert trainings == [("persistent", 1), ("stateless", 1)]
    assert ends == {"finished": 1}
    assert runs == [(4,)]
    assert "smoke, numbers without meaning" in printed

    again = start(home)
    printed_again, _ = again.communicate()
    assert again.returncode == 0
    tables = printed[printed.index("smoke: smoke") :]
    assert printed_again[printed_again.index("smoke: smoke") :] == tables
