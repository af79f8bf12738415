"""What a plan has of a stage, and the episodes that it takes from other plans."""

import pytest

from carryover.storage.zone.bundles import Manifest
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.plans.identity import Stage
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits
from carryover.tasks.services.errors import UserError
from carryover.tasks.stages.runs import start_run
from carryover.tasks.stages.stage_results import instance_ids, note_reuse, note_stage, noted_stage, stage_result
from carryover.tasks.train import TrainedFolder, find_trained
from tests.storage.conftest import build_episode


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run of the smoke study in an empty data folder."""
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("CARRYOVER_LANDING", raising=False)
    with start_run("toy", resolve_plan("smoke"), Limits()) as opened:
        yield opened


def test_only_episodes_of_other_plans_are_reused_and_noted_once(run):
    zone = LandingZone(run.landing)
    zone.write(build_episode("own", run.run_id, plan_digest=run.plan.digest), run.run_id)
    assert note_reuse(run, zone, ["own", "a", "b"]) == 2
    assert note_reuse(run, zone, ["own", "b", "c"]) == 2
    noted = zone.manifests()
    assert note_reuse(run, zone, ["own", "a", "c"]) == 2
    assert zone.manifests() == noted  # nothing is noted twice
    rows = zone.read("reused_episodes").to_pylist()
    assert sorted(row["episode_id"] for row in rows) == ["a", "b", "c"]
    assert {row["plan_digest"] for row in rows} == {run.plan.digest}


def test_the_last_noted_result_of_stage_and_name_counts(run):
    zone = LandingZone(run.landing)
    folder = run.home / "model"
    for stage, name, digest in ((Stage.TRAINING, "m", "one"), (Stage.TRAINING, "n", "two"), (Stage.DATA, "m", "three")):
        note_stage(run, stage, name, digest, TrainedFolder(path=folder, files={}, digest=digest))
    note_stage(run, Stage.TRAINING, "m", "four", TrainedFolder(path=folder, files={}, digest="four"))
    noted = noted_stage(zone, run, Stage.TRAINING, "m")
    assert noted is not None
    assert noted.stage_digest == "four"
    assert '"digest":"three"' in (stage_result(run, Stage.DATA, "m") or "")
    assert find_trained(run, "n").digest == "two"
    landed = len(zone.manifests().bundles)
    note_stage(run, Stage.TRAINING, "m", "four", TrainedFolder(path=folder, files={}, digest="four"))
    assert len(zone.manifests().bundles) == landed


def test_many_stages_read_each_manifest_once(run, monkeypatch):
    read = []
    from_json = Manifest.from_json
    monkeypatch.setattr(Manifest, "from_json", lambda content: read.append(content) or from_json(content))
    for name in "abcd":
        note_stage(run, Stage.TRAINING, name, name, TrainedFolder(path=run.home, files={}, digest=name))
        assert f'"digest":"{name}"' in (stage_result(run, Stage.TRAINING, name) or "")
    assert len(read) == len(set(read)) >= 4


@pytest.mark.parametrize(
    ("stage", "command"), [(Stage.TRAINING, "train-models"), (Stage.REINFORCEMENT, "reinforce-models")]
)
def test_a_missing_model_names_the_stage_that_makes_it(run, stage, command):
    with pytest.raises(UserError, match=f"plan smoke has no trained model m; run `carryover stage {command}` first"):
        find_trained(run, "m", stage)


def test_missing_instances_name_the_stage_that_makes_them(run):
    instances = run.plan.parts[0].train_instances
    with pytest.raises(UserError, match=r"no instances of bucket .*; run `carryover stage generate-instances` first"):
        instance_ids(run, LandingZone(run.landing), instances)
