"""What a folder of results keeps of reinforcements: the updates of its plans, of the last time that they ran."""

import polars as pl
import pytest

from carryover.storage.warehouse.connection import open_memory
from carryover.storage.warehouse.migrations import migrate
from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.stages.kept_updates import insert_updates, keep_updates
from carryover.tasks.traces.study_rows import PlanStageRow
from carryover.tasks.traces.training_rows import PolicyUpdateRow

FILE = "policy_updates.parquet"


@pytest.fixture
def reinforced(tmp_path, make_row):
    """A function that returns a warehouse of a plan's reinforcement, of as many updates, and of one of another plan."""

    def land(place, name, update_count, digest="0d"):
        stage = {"plan_digest": "plan", "stage": "reinforcement", "name": name, "stage_digest": digest}
        of_plan = [
            make_row(PolicyUpdateRow, reinforcement_id=f"{name}-{digest}", policy_update=number + 1)
            for number in range(update_count)
        ]
        of_another = make_row(PolicyUpdateRow, reinforcement_id=f"{name}-1e", policy_update=1)
        rows = {"plan_stages": [make_row(PlanStageRow, **stage)], "policy_updates": [*of_plan, of_another]}
        LandingZone(tmp_path / place).write(rows, "run")
        return Warehouse.open(tmp_path / place)

    return land


def kept(folder):
    return pl.read_parquet(folder / FILE).select("reinforcement_id", "policy_update").rows()


def test_updates_of_plans_are_kept_in_order(reinforced, tmp_path):
    keep_updates(reinforced("first", "rl-own", 1), tmp_path, ["plan"], target=tmp_path)
    keep_updates(reinforced("second", "rl-other", 2), tmp_path, ["plan"], target=tmp_path)
    assert kept(tmp_path) == [("rl-other-0d", 1), ("rl-other-0d", 2), ("rl-own-0d", 1)]


def test_a_reinforcement_that_is_kept_again_replaces_its_updates(reinforced, tmp_path):
    keep_updates(reinforced("longer", "rl-own", 3), tmp_path, ["plan"], target=tmp_path)
    keep_updates(reinforced("shorter", "rl-own", 1), tmp_path, ["plan"], target=tmp_path)
    assert kept(tmp_path) == [("rl-own-0d", 1)]


def test_updates_of_a_model_trained_anew_replace_the_former_ones(reinforced, tmp_path):
    keep_updates(reinforced("here", "rl-own-1", 3), tmp_path, ["plan"], target=tmp_path)
    keep_updates(reinforced("neighbour", "rl-own-11", 1), tmp_path, ["plan"], target=tmp_path)
    keep_updates(reinforced("elsewhere", "rl-own-1", 2, digest="2f"), tmp_path, ["plan"], target=tmp_path)
    assert kept(tmp_path) == [("rl-own-1-2f", 1), ("rl-own-1-2f", 2), ("rl-own-11-0d", 1)]


def test_a_plan_without_reinforcements_adds_no_file(reinforced, tmp_path):
    keep_updates(reinforced("first", "rl-own", 1), tmp_path, ["another plan"], target=tmp_path)
    assert not (tmp_path / FILE).exists()


def test_kept_updates_are_those_of_the_folders_one_plan(reinforced, tmp_path):
    keep_updates(reinforced("first", "rl-own", 2), tmp_path, ["plan"], target=tmp_path)
    connection = open_memory()
    migrate(connection)
    insert_updates(connection, tmp_path)
    stages = connection.sql("select plan_digest, stage, name, stage_digest from main.plan_stages").fetchall()
    updates = connection.sql("select reinforcement_id, policy_update from main.policy_updates order by all").fetchall()
    assert (stages, updates) == (
        [(tmp_path.name, "reinforcement", "rl-own", "0d")],
        [("rl-own-0d", 1), ("rl-own-0d", 2)],
    )
