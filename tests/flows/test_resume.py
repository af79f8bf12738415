"""A study that is killed goes on where it stopped: nothing is lost, nothing is doubled."""

import signal
import time
from typing import NamedTuple

import polars as pl
import pytest

from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.zone.landing import LandingZone
from tests.flows.flow_process import start_flow, start_python

STUDY = ["--scale", "smoke", "--train-count", "12", "--evaluation-count", "2"]
NOT_LANDED = ("has_warehouse", "has_checked")
"""Stages that leave something else than landed rows: one has to look for it."""
DYING_STUDY = """
import os
import signal
from pathlib import Path

from carryover.flows.cli.command import run_as_command
from carryover.flows.reproduce_study import reproduce_study
from carryover.storage.zone.landing import LandingZone
from tests.flows.test_resume import Progress

write = LandingZone.write


def write_and_die(*arguments):
    landed = write(*arguments)
    if Progress.of(Path(os.environ["CARRYOVER_HOME"])).%s:
        os.kill(os.getpid(), signal.SIGKILL)
    return landed


LandingZone.write = write_and_die
run_as_command(reproduce_study)
"""
"""The study, killed by itself with the first landed row of a stage."""


def start(home, server=None):
    return start_flow(home, "run", *STUDY, server=server, stderr=told(home))


def told(home):
    return (home.parent / "said.txt").open("a")


def said(home):
    return (home.parent / "said.txt").read_text()[-8000:]


class Progress(NamedTuple):
    """How far a study has come: rows landed, and whether the merger and the last checks have begun."""

    instances: int
    teacher_episodes: int
    verdicts: int
    trainings: int
    model_episodes: int
    """Those of evaluations; the scripts play theirs while traces are collected."""
    has_warehouse: bool
    statistics: int
    has_checked: bool

    @classmethod
    def of(cls, home):
        zone = LandingZone(home / "landing")
        episodes = zone.scan("episodes").collect()
        tables = ("instances", "trace_verdicts", "training_runs", "statistics")
        count = {table: zone.read(table).num_rows for table in tables}
        return cls(
            instances=count["instances"],
            teacher_episodes=episodes.filter(purpose="teacher").height,
            verdicts=count["trace_verdicts"],
            trainings=count["training_runs"],
            model_episodes=episodes.filter(pl.col("base") != "teacher").height,
            has_warehouse=(home / "warehouse.duckdb").exists(),
            statistics=count["statistics"],
            has_checked=(home / "documents" / "warehouse_docs").exists(),
        )


def kill_within(home, stage, server):
    """Start the study, let SIGKILL end it as soon as a stage has left its first trace, and wait for its end.

    A trace that is there before says that the kill before it came too late to find this stage at work.
    """
    assert not getattr(Progress.of(home), stage), f"{stage} had begun before the start that is to be killed in it"
    if stage in NOT_LANDED:
        process = start(home, server)
        while process.poll() is None and not getattr(Progress.of(home), stage):
            time.sleep(0.05)
        assert process.poll() is None, said(home)
        process.send_signal(signal.SIGKILL)
        process.wait()
    else:
        process = start_python(home, "-c", DYING_STUDY % stage, *STUDY, server=server, stderr=told(home))
        process.communicate()
        assert process.returncode == -signal.SIGKILL, said(home)


@pytest.mark.prefect
@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_study_killed_in_every_stage_has_rows_once(prefect_api, tmp_path):
    home = tmp_path / "data"
    first, *others = Progress._fields
    kill_within(home, first, server=None)  # its own server dies with it, and the last start finds what that left
    for stage in others:
        kill_within(home, stage, prefect_api)
    last = start(home)
    printed, _ = last.communicate()
    assert last.returncode == 0, said(home)

    with Warehouse.open(home / "warehouse.duckdb") as warehouse:
        episodes = dict(warehouse.sql("select purpose, count(*) from episodes group by purpose").rows())
        (steps,) = warehouse.sql(
            "select sum(step_count), (select count(*) from steps), count(distinct episode_id), count(*) from episodes"
        ).rows()
        trainings = warehouse.sql(
            "select contract, count(*) from training_runs group by contract order by contract"
        ).rows()
        ends = warehouse.sql(
            "select status, count(*) from run_ends join runs using (run_id) where flow = 'reproduce_study' group by all"
        ).rows()
        runs = warehouse.sql("select count(*) from runs where flow = 'reproduce_study'").rows()
        keys = {
            table: warehouse.sql(f"select count(*), count(distinct ({key})) from {table}").rows()[0]
            for table, key in (
                ("trace_verdicts", "validation_digest, episode_id"),
                ("training_examples", "dataset_id, episode_id"),
                ("statistics", "statistic_id"),
            )
        }
    assert episodes == {"teacher": 24, "evaluation": 20}
    assert steps[0] == steps[1]
    assert steps[2] == steps[3] == 44
    assert keys["trace_verdicts"] == (24, 24)
    assert all(count == distinct > 0 for count, distinct in keys.values())
    assert trainings == [("persistent", 1), ("stateless", 1)]
    assert ends == [("finished", 1)]
    assert runs == [(len(Progress._fields) + 1,)]
    assert "numbers without meaning" in printed

    again = start(home)
    printed_again, _ = again.communicate()
    assert again.returncode == 0
    tables = printed[printed.index("smoke: smoke") :]
    assert printed_again[printed_again.index("smoke: smoke") :] == tables
