"""What a study and a night show in Prefect's UI, in a browser."""

import os
import re
import shutil
import subprocess
import sys
import time

import httpx
import pytest

from carryover.tasks.serving.process import ManagedProcess, find_free_port
from tests.flattening import flat
from tests.flows.cli.chromium import open_page
from tests.flows.flow_process import run_flow, start_python

SHOW_SECONDS = 60.0
AGAIN = """
from carryover.flows.reproduce_study import reproduce_study
from carryover.tasks.plans.overrides import Overrides
reproduce_study(scale="smoke", overrides=Overrides(train_count=12, evaluation_count=2))
"""


@pytest.fixture
def ui(tmp_path):
    """The address of a Prefect server that shows its UI."""
    port = find_free_port()
    quiet = {"PREFECT_HOME": str(tmp_path / "prefect"), "PREFECT_SERVER_ANALYTICS_ENABLED": "false"}
    command = [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port)]
    address = f"http://127.0.0.1:{port}"
    environment = os.environ | quiet | {"DO_NOT_TRACK": "1", "PREFECT_UI_API_URL": f"{address}/api"}
    with ManagedProcess(
        command, tmp_path / "server.log", health_url=f"{address}/api/health", environment=environment
    ) as server:
        server.wait_until_healthy(300)
        yield address


def ask(address, what, **wanted):
    return httpx.post(f"{address}/api/{what}/filter", json=wanted, timeout=60).json()


def shown(page, address, words, *, width=1400):
    """Show a page until it holds every word, and return its text."""
    page.show(address, width)
    deadline, text = time.monotonic() + SHOW_SECONDS, ""
    while time.monotonic() < deadline:
        text = page.ask("document.body.innerText") or ""
        if all(word in text for word in words):
            return text
        time.sleep(0.5)
    raise AssertionError(f"{[word for word in words if word not in text]} not on {address}: {text[:4000]}")


@pytest.mark.browser
@pytest.mark.prefect
@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_a_finished_study_and_a_night_show_what_they_found(ui, smoke_study, tmp_path):
    home = shutil.copytree(smoke_study.home, tmp_path / "data")
    study = start_python(home, "-c", AGAIN, server=f"{ui}/api", stderr=subprocess.STDOUT)
    said, _ = study.communicate()
    assert study.returncode == 0, said[-8000:]
    run_flow(home, "reevaluate", "--scale", "smoke", server=f"{ui}/api")

    runs = {run["tags"][1]: run for run in ask(ui, "flow_runs") if run["parent_task_run_id"] is None}
    assert set(runs) == {"stage:reevaluation", "stage:study"}
    assert runs["stage:reevaluation"]["tags"][2:] == ["verdict:identical"]
    assert all(re.fullmatch(r"smoke-[0-9a-f]{4}", run["name"]) for run in runs.values())
    assert {run["tags"][0].partition(":")[0] for run in runs.values()} == {"plan"}
    tags = set(flat(run["tags"] for run in ask(ui, "task_runs")))
    assert {"stage:evaluation", "contract:persistent", "contract:stateless"} < tags
    artifacts = {each["key"] or each["description"]: each for each in ask(ui, "artifacts")}
    assert {"smoke-result", "smoke-cells", "smoke-table-2", "smoke-checks", "smoke-report"} < set(artifacts)
    (cell,) = (text for text in artifacts if text.startswith("reevaluation, persistent-0 on stateless"))
    assert "2 of 2 episodes in" in cell
    messages = [line["message"] for line in ask(ui, "logs", limit=200, offset=0, sort="TIMESTAMP_ASC")]
    assert any(text.startswith("cross-evaluation: model ") for text in messages)

    with open_page() as page:
        name = runs["stage:study"]["name"]
        shown(page, f"{ui}/runs/flow-run/{runs['stage:study']['id']}", [name, runs["stage:study"]["tags"][0]])
        shown(page, f"{ui}/artifacts", ["smoke-result", "smoke-cells", "smoke-verdicts"])
        place = f"{ui}/artifacts/artifact/"
        shown(page, f"{place}{artifacts['smoke-result']['id']}", ["numbers without meaning"])
        pictures = page.ask("Array.from(document.images).filter(one => one.naturalWidth > 200).length")
        assert pictures == 1  # the 2x2
        shown(page, f"{place}{artifacts['smoke-cells']['id']}", ["P→P", "S→S", "mean tokens"])
        shown(page, f"{place}{artifacts['smoke-checks']['id']}", ["checks passed", "broken by"])
        words = ["6 cells, each equal to its baseline to the token", "persistent-0 on stateless, small", "identical"]
        shown(page, f"{place}{artifacts['smoke-verdicts']['id']}", words)
