"""Workers that share no folder: rows, datasets, tokenizers, models and Prefect's results go through object storage."""

import os
import re
import subprocess
import sys
from itertools import product

import polars as pl
import pytest
from s3fs import S3FileSystem

from carryover.flows.gpu_pool import GPU_POOL
from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.serving.process import ManagedProcess
from tests.flows.conftest import STUDY
from tests.flows.flow_process import ROOT, run_flow

pytestmark = [pytest.mark.prefect, pytest.mark.slow, pytest.mark.timeout(1500)]

LANDING = "s3://studies/landing"
PREFECT = (sys.executable, "-m", "prefect")


@pytest.fixture
def bucket(bucket_address, monkeypatch):
    """An empty bucket that the environment leads to."""
    for name, value in {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": bucket_address,
        "DO_NOT_TRACK": "1",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("CARRYOVER_LANDING", raising=False)
    S3FileSystem.clear_instance_cache()
    filesystem = S3FileSystem()
    filesystem.mkdir("studies")
    yield filesystem
    filesystem.rm("studies", recursive=True)
    S3FileSystem.clear_instance_cache()


@pytest.fixture
def gpu_worker(bucket, prefect_api, tmp_path):
    """A worker that trains, with a data folder of its own; its deployment tells it where to land."""
    environment = os.environ | {
        "PREFECT_API_URL": prefect_api,
        "PREFECT_HOME": str(tmp_path / "prefect"),
        "CARRYOVER_HOME": str(tmp_path / "gpu"),
    }
    deploying = environment | {"CARRYOVER_LANDING": LANDING}
    for command in (
        ("work-pool", "create", GPU_POOL, "--type", "process", "--overwrite"),
        ("--no-prompt", "deploy", "--prefect-file", "deployments/prefect.yaml", "--name", "training"),
    ):
        done = subprocess.run(
            [*PREFECT, *command], cwd=ROOT, env=deploying, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    command = [*PREFECT, "worker", "start", "--pool", GPU_POOL]
    log = tmp_path / "gpu.log"
    with ManagedProcess(command, log, health_url="http://127.0.0.1:9/", environment=environment) as process:
        while "started!" not in log.read_text():
            process.check_running()
        yield log


def landed(table: str) -> pl.DataFrame:
    return LandingZone(LANDING).scan(table).collect()


@pytest.fixture
def study(gpu_worker, prefect_api, tmp_path, monkeypatch):
    """A smoke study that one worker has trained and another has done the rest of."""
    monkeypatch.setenv("CARRYOVER_LANDING", LANDING)
    run_flow(tmp_path / "cpu", "run", *STUDY, "--train-on", "gpu_pool", server=prefect_api)
    return tmp_path


def test_workers_with_homes_of_their_own_finish_a_study(study, bucket):
    homes = set(re.findall(rf"{study}/(\w+)/", " ".join(landed("training_runs")["output_path"])))
    assert homes == {"gpu"}
    assert not (study / "gpu" / "landing").exists()
    assert {len(list((study / home / "models").glob("main-*/*.safetensors"))) for home in ("cpu", "gpu")} == {2}
    with Warehouse.open(study / "cpu" / "warehouse.duckdb") as warehouse:
        counts = dict(warehouse.sql("select purpose, count(*) from episodes group by purpose").rows())
    assert counts == {"teacher": 24, "evaluation": 20}
    assert not bucket.exists("studies/landing/quarantine")


@pytest.mark.long
def test_a_third_home_goes_on_from_what_the_others_made(study, prefect_api):
    bundles = {manifest.bundle_id for manifest in LandingZone(LANDING).manifests().bundles}
    run_flow(study / "third", "run", *STUDY[:-1], "3", server=prefect_api)
    new = [manifest for manifest in LandingZone(LANDING).manifests(known=bundles).bundles if manifest]
    assert not any(manifest.file(table) for manifest, table in product(new, ("training_runs", "training_examples")))
    assert {len(manifest.episodes) for manifest in new if manifest.episodes} == {1}
