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
    """Changes of one kind, and the stages that they let run again.

    A start costs imports more than work, so changes stand together where one of them lets no stage run that the other
    does not; which identities each of them changes alone is tested in `tests/tasks/plans/test_identity.py`.
    """

    what: str
    changes: tuple[tuple[str, str, str], ...]
    """File, former and new text; without a former text the new one is added."""
    runs: set[str]
    options: tuple[str, ...] = ()


COMMENT = ("tasks/collect.py", "import asyncio\n", "import asyncio  # runs a shard\n")
SQL = ("sql/marts/teacher_labels.sql", "order by scale", "order by scale asc")
SERVER = ("tasks/serving/cpu_server.py", "", UNUSED)
TRAINING = ("tasks/sft/training_spec.py", '"max_steps": 20,', '"max_steps": 15,')
DATASET = ("tasks/plans/laptop_full.py", 'matching="tokens"', 'shuffle_seed=7, matching="tokens"')
PROMPT = ("tasks/agent/prompts/compact/base.md", "", " Be brief.")
MORE = ("--evaluation-count", "3")
EDITS = (
    Edit("a comment, SQL of the analysis", (COMMENT, SQL), {"analysis"}),
    Edit("the server, evaluation_count", (SERVER,), {"instances", "evaluation", "analysis"}, MORE),
    Edit("the training's spec", (TRAINING,), AFTER_MODEL),
    Edit("the dataset's spec", (DATASET,), {"data", *AFTER_MODEL}),
    Edit("an unused function of the task", (("tasks/collect.py", "", UNUSED),), AFTER_TRACES - {"training"}),
    Edit("a prompt", (PROMPT,), AFTER_TRACES),
    Edit("--refresh training", (), {"training"}, ("--refresh", "training")),
)


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


def changed(text: str, old: str, new: str) -> str:
    """Return a file's text after an edit; fail where the former text is gone."""
    assert old in text
    return text.replace(old, new, 1) if old else text.rstrip("\n") + new


def test_every_edit_still_finds_the_text_that_it_changes():
    for edit in EDITS:
        for name, old, new in edit.changes:
            text = (ROOT / name).read_text()
            assert changed(text, old, new) != text


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
def test_edit_runs_only_the_stages_that_depend_on_it(source, study, tmp_path):
    assert study() == {"instances", *AFTER_TRACES}
    options: tuple[str, ...] = ()
    ran = {}
    for edit in EDITS:
        for name, old, new in edit.changes:
            file = source / name
            file.write_text(changed(file.read_text(), old, new))
        options = (*options, *edit.options)
        ran[edit.what] = study(*options)
    assert ran == {edit.what: edit.runs for edit in EDITS}
    with Warehouse.open(tmp_path / "data" / "warehouse.duckdb") as warehouse:
        plans = warehouse.sql(
            "select count(*) filter (purpose = 'teacher'), count(*) filter (purpose = 'evaluation') "
            "from marts.episode_metrics where is_counted group by plan_digest"
        ).rows()
    assert set(plans) == {(24, 20), (24, 30)}  # every plan has all of its rows, whichever plan played them
