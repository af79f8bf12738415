"""Which stages run again after which edit: the real flows, at the smallest size, on a copy of the source."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest

from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.zone.landing import LandingZone
from tests.flows.flow_process import ROOT

FOLDERS = ("flows", "tasks", "storage", "sql")
AFTER_TRACES = {"traces", "data", "training", "evaluation", "analysis"}
AFTER_MODEL = {"training", "evaluation", "analysis"}
UNUSED = "\n\ndef unused() -> None:\n    return None\n"


class Edit(NamedTuple):
    """A change of one thing, and the stages that it lets run again."""

    what: str
    file: str | None
    old: str
    new: str
    runs: set[str]
    options: tuple[str, ...] = ()


EDITS = (
    Edit("a comment", "tasks/collect.py", "import asyncio\n", "import asyncio  # runs a shard\n", set()),
    Edit("SQL of the analysis", "sql/marts/teacher_labels.sql", "select * from final", "select * from  final",
         {"analysis"}),
    Edit("an unused function of the server", "tasks/serving/cpu_server.py", "", UNUSED, {"evaluation", "analysis"}),
    Edit("evaluation_count", None, "", "", {"instances", "evaluation", "analysis"}, ("--evaluation-count", "3")),
    Edit("the training's spec", "tasks/sft/spec.py", '"max_steps": 20,', '"max_steps": 15,', AFTER_MODEL),
    Edit("the dataset's spec", "tasks/plans/laptop_full.py", 'matching="tokens"', 'shuffle_seed=7, matching="tokens"',
         {"data", *AFTER_MODEL}),
    Edit("an unused function of the task", "tasks/collect.py", "", UNUSED, AFTER_TRACES - {"training"}),
    Edit("a prompt", "tasks/agent/prompts/compact/base.md", "", " Be brief.", AFTER_TRACES),
    Edit("--refresh training", None, "", "", {"training"}, ("--refresh", "training")),
)  # fmt: skip


@pytest.fixture
def source(tmp_path):
    """A copy of the package, to be edited."""
    package = tmp_path / "source" / "carryover"
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, package / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "flows" / "api" / "__init__.py", package)
    return package


@pytest.fixture
def study(source, tmp_path, prefect_api):
    """A function that starts the study and returns which stages landed rows in that run."""
    home, size = tmp_path / "data", ["--train-count", "12", "--evaluation-count", "2"]

    def start(*options: str) -> set[str]:
        environment = os.environ | {"PREFECT_API_URL": prefect_api, "PREFECT_HOME": str(home / "prefect")}
        environment |= {"CARRYOVER_HOME": str(home), "PYTHONPATH": str(source.parent)}
        command = [sys.executable, "-m", "carryover.flows.cli.start", "run", "--scale", "smoke", *size, *options]
        before = _run_ids(home)
        done = subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-8000:]
        return _stages_of(home, _run_ids(home) - before)

    return start


def _run_ids(home: Path) -> set[str]:
    return set(LandingZone(home / "landing").scan("runs").collect()["run_id"])


def _stages_of(home: Path, run_ids: set[str]) -> set[str]:
    zone = LandingZone(home / "landing")
    tables = {
        "instances": "instances",
        "training_examples": "data",
        "training_runs": "training",
        "statistics": "analysis",
    }
    # of one key the first row stands, so a stage that lands the same again is seen by its bundles
    bundles = [manifest for manifest in zone.manifests().bundles if manifest.run_id in run_ids]
    stages = {stage for table, stage in tables.items() if any(bundle.file(table) for bundle in bundles)}
    episodes = zone.scan("episodes").filter(pl.col("run_id").is_in(sorted(run_ids))).collect()
    return stages | {"traces" if purpose == "teacher" else "evaluation" for purpose in episodes["purpose"]}


@pytest.mark.long
@pytest.mark.prefect
@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_every_edit_runs_the_stages_that_depend_on_it_and_no_others(source, study, tmp_path):
    assert study() == {"instances", *AFTER_TRACES}
    options: tuple[str, ...] = ()
    ran = {}
    for edit in EDITS:
        if edit.file is not None:
            file = source / edit.file
            text = file.read_text()
            assert edit.old in text
            file.write_text(text.replace(edit.old, edit.new, 1) if edit.old else text.rstrip("\n") + edit.new)
        options = (*options, *edit.options)
        ran[edit.what] = study(*options)
    assert ran == {edit.what: edit.runs for edit in EDITS}
    with Warehouse.open(tmp_path / "data" / "warehouse.duckdb") as warehouse:
        plans = warehouse.sql(
            "select count(*) filter (purpose = 'teacher'), count(*) filter (purpose = 'evaluation') "
            "from marts.episode_metrics where is_counted group by plan_digest"
        ).rows()
    assert set(plans) == {(24, 16), (24, 24)}  # every plan has all of its rows, whichever plan played them
