"""Which identities an edit of the source changes, without running a stage."""

import shutil

import pytest

from carryover.tasks.plans.identity import SOURCES, Stage, stage_digest
from carryover.tasks.running import source_digest

COLLECTING = {"traces", "evaluation"}
PLAYING = {"tokenizer", *COLLECTING}


@pytest.fixture
def source(tmp_path, monkeypatch):
    """A copy of the source, to be edited."""
    for folder in ("tasks", "sql"):
        shutil.copytree(source_digest.ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(source_digest, "ROOT", tmp_path)
    return tmp_path


def digests():
    return {stage: stage_digest(stage) for stage in Stage}


@pytest.mark.parametrize(
    ("file", "text", "changed"),
    [
        ("tasks/collect.py", "# a comment\n", set()),
        ("tasks/collect.py", "X = 1\n", COLLECTING),
        ("tasks/serving/cpu_server.py", "X = 1\n", {"evaluation"}),
        ("tasks/agent/prompts/compact/base.md", "Be brief.\n", {*PLAYING, "data"}),
        ("tasks/runtime/protocol.py", "X = 1\n", {"instances", *PLAYING, "data"}),
        ("tasks/knapsack/sampling.py", "X = 1\n", {"instances", *PLAYING, "data"}),
        ("tasks/datasets/validation.py", "X = 1\n", {"data"}),
        ("tasks/sft/trainer.py", "X = 1\n", {"training"}),
        ("tasks/sft/spec.py", "X = 1\n", set()),
        ("tasks/train.py", "X = 1\n", {"training"}),
        ("tasks/plans/presets.py", "X = 1\n", set()),
        ("tasks/analysis/compute.py", "X = 1\n", {"analysis"}),
        ("sql/marts/episode_metrics.sql", "-- a comment\n", {"analysis"}),
    ],
)
def test_an_edit_changes_the_identities_of_the_stages_behind_it(source, file, text, changed):
    before = digests()
    path = source / file
    path.write_text(path.read_text() + text)
    assert {stage for stage, digest in digests().items() if digest != before[stage]} == changed


def test_an_input_counts_by_value():
    assert stage_digest(Stage.DATA, {"b": 1, "a": (2,)}) == stage_digest(Stage.DATA, {"a": [2], "b": 1})
    assert stage_digest(Stage.DATA, 1) != stage_digest(Stage.DATA, 2)
    assert set(SOURCES) == set(Stage)
