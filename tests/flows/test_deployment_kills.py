"""A deployment's run whose worker or engine is killed with SIGKILL completes when it is started again.

pytest -m long tests/flows/test_deployment_kills.py [-k "worker and 0"]
"""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from prefect.client.orchestration import get_client
from prefect.settings import PREFECT_API_URL, temporary_settings

from tests.flows.conftest import EVALUATION_COUNT, TRAIN_COUNT
from tests.flows.flow_process import ROOT
from tests.flows.killing import REPEATS, check_completed, find, kill

pytestmark = [pytest.mark.long, pytest.mark.slow, pytest.mark.prefect, pytest.mark.timeout(1800)]

PARAMETERS = {"scale": "smoke", "overrides": {"train_count": TRAIN_COUNT, "evaluation_count": EVALUATION_COUNT}}


@pytest.fixture
def deployed(prefect_api, tmp_path, monkeypatch) -> str:
    """The study as a deployment; return its id."""
    monkeypatch.setenv("PREFECT_API_URL", prefect_api)
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path / "prefect"))
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("CARRYOVER_ROOT", str(ROOT))
    monkeypatch.setenv("DO_NOT_TRACK", "1")
    for command in (
        ("work-pool", "create", "cpu", "--type", "process", "--overwrite"),
        ("--no-prompt", "deploy", "--prefect-file", "deployments/prefect.yaml", "--name", "study"),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "prefect", *command], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    with temporary_settings({PREFECT_API_URL: prefect_api}), get_client(sync_client=True) as client:
        return str(client.read_deployment_by_name("reproduce-study/study").id)


@contextmanager
def worker(log: Path) -> Iterator[subprocess.Popen[str]]:
    """Start a worker as a person does, without a supervisor that would end its flows with it."""
    command = [sys.executable, "-m", "prefect", "worker", "start", "--pool", "cpu"]
    with log.open("a") as said, subprocess.Popen(command, cwd=ROOT, stdout=said, stderr=said, text=True) as process:
        try:
            yield process
        finally:
            process.terminate()


@pytest.mark.parametrize("repeat", range(REPEATS))
@pytest.mark.parametrize("target", ["worker", "engine"])
def test_killed_deployment_run_completes_on_restart(target, repeat, tmp_path, strays, *, prefect_api, deployed):
    home, log = tmp_path / "data", tmp_path / "worker.log"
    with temporary_settings({PREFECT_API_URL: prefect_api}), get_client(sync_client=True) as client:

        def start():
            return client.create_flow_run_from_deployment(deployed, parameters=PARAMETERS).id

        def state(run):
            found = client.read_flow_run(run).state
            assert found is not None
            return found

        first = start()
        with worker(log) as process:
            kill(target, repeat, home, lambda: state(first).is_final())
            if target == "engine":
                while not state(first).is_final():
                    assert process.poll() is None
                    time.sleep(0.5)
                assert state(first).is_crashed(), state(first)
        while find("engine", home):  # that of a killed worker goes on, and ends by itself
            time.sleep(0.5)
        assert strays() == set()
        print(f"{target} {repeat}: {state(first)!r}")
        again = start()
        with worker(log) as process:
            while not state(again).is_final():
                assert process.poll() is None
                time.sleep(0.5)
        assert state(again).is_completed(), log.read_text()[-8000:]
    assert strays() == set()
    check_completed(home)
