"""Nights: the schedule of the real deployments starts runs; a night that does not happen and a regression alert."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import yaml
from prefect.blocks.notifications import CustomWebhookNotificationBlock
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterDeploymentId
from prefect.client.schemas.sorting import FlowRunSort
from prefect.settings import PREFECT_API_URL, temporary_settings

from carryover.flows.cli.machine.automations import declare_automation
from carryover.flows.cli.machine.server_health import server_lines
from carryover.storage.warehouse.reader import Warehouse
from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits
from carryover.tasks.stages.runs import start_run
from tests.flows.deploying import deploy, prefect, wait_until, worker
from tests.flows.flow_process import ROOT, run_flow
from tests.flows.teacher_endpoint import MODEL, TeacherEndpoint, serve_teacher

NIGHTLY = "nightly-reevaluation"
SECONDS_BETWEEN_NIGHTS = 20
LOST_HEARTBEAT = "Worker channel heartbeat persistence failed"
"""SQLite refuses a write after a read that another write overtook; the worker opens its channel again."""


@pytest.fixture
def notified():
    """What a webhook is told, and its address."""
    said = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            said.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield said, f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture
def client(scheduling_server):
    with (
        temporary_settings({PREFECT_API_URL: scheduling_server["PREFECT_API_URL"]}),
        get_client(sync_client=True) as client,
    ):
        yield client


def deploy_with_short_nights(environment, folder):
    """Deploy everything as it is, and then the nightly with some seconds between its runs."""
    deploy(environment)
    declared = yaml.safe_load((ROOT / "deployments" / "prefect.yaml").read_text())
    (nightly,) = (each for each in declared["deployments"] if each["name"] == NIGHTLY)
    assert [schedule["active"] for schedule in nightly["schedules"]] == [True]
    nightly["schedules"] = [{"interval": SECONDS_BETWEEN_NIGHTS, "active": True}]
    (folder / "prefect.yaml").write_text(yaml.safe_dump(declared))
    prefect(environment, "--no-prompt", "deploy", "--prefect-file", str(folder / "prefect.yaml"), "--name", NIGHTLY)


def declare_alert(client, address, name, **changes):
    """Declare an automation, with changes to its trigger, and the webhook that it notifies."""
    fields = {"subject": "{{subject}}", "body": "{{body}}"}
    block = CustomWebhookNotificationBlock.model_validate({"name": "alerts", "url": address, "json_data": fields})
    block.save("carryover-alerts")
    declared = yaml.safe_load((ROOT / "deployments" / "automations.yaml").read_text())["automations"]
    (chosen,) = (each for each in declared if each["name"] == name)
    chosen["trigger"] |= changes
    declare_automation(client, chosen)


@pytest.mark.prefect
@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_schedule_starts_nights_and_their_absence_alerts(scheduling_server, client, notified, tmp_path):
    """Without a study each night is skipped, so none ends in a verdict."""
    deploy_with_short_nights(scheduling_server, tmp_path)
    nightly = client.read_deployment_by_name(f"reevaluate-model/{NIGHTLY}").id
    of_nightly = FlowRunFilter(deployment_id=FlowRunFilterDeploymentId(any_=[nightly]))

    def errors():
        lines = (tmp_path / "server.log").read_text().splitlines()
        return [line for line in lines if "ERROR" in line and LOST_HEARTBEAT not in line]

    def ended():
        assert errors() == []
        runs = client.read_flow_runs(flow_run_filter=of_nightly)
        return [run for run in runs if run.auto_scheduled and run.state and run.state.is_final()]

    with worker(scheduling_server, "cpu", tmp_path / "cpu.log") as cpu:
        (first, *_) = wait_until(ended, cpu)
        assert first.state_name == "Completed", first.state
        assert (first.state.message or "").startswith("skipped: no finished study"), first.state
        (schedule,) = (line for line in server_lines(80) if line.startswith("schedule of "))
        assert schedule.startswith(f"schedule of {NIGHTLY}: next run ")
        (pool,) = (line for line in server_lines(200) if line.startswith("work pool cpu: "))
        assert " GiB)" in pool

    said, address = notified
    declare_alert(client, address, "carryover-missed-night", within=10)  # the shortest window that Prefect knows
    alert = wait_until(lambda: said and said[0])
    assert alert["subject"] == "carryover: no night in 25 hours"
    assert errors() == []


class WorseningEndpoint(TeacherEndpoint):
    """A teacher that takes nothing once it is worse."""

    is_worse = False

    def answer(self, episode_id, body, authorization=None):
        status, content = super().answer(episode_id, body, authorization)
        if self.is_worse:
            content["choices"][0]["message"]["content"] = "I am done.\n```python\nfinish()\n```"
        return status, content


def regressions(home):
    """Return verdict and pairs of each cell of the newest night."""
    query = "select verdict, pair_count from night_verdicts where run_id = (select max(run_id) from night_verdicts)"
    with Warehouse.open(home / "warehouse.duckdb") as warehouse:
        return warehouse.sql(query).rows()


@pytest.mark.prefect
@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_endpoint_that_got_worse_is_a_regression_and_alerts(scheduling_server, client, notified, tmp_path, monkeypatch):
    home = tmp_path / "data"
    monkeypatch.setenv("CARRYOVER_HOME", str(home))
    monkeypatch.delenv("CARRYOVER_LANDING", raising=False)
    with start_run("reproduce_study", resolve_plan("smoke", Overrides(evaluation_count=20)), Limits()):
        pass  # a study of enough instances for a p-value
    said, address = notified
    declare_alert(client, address, "carryover-regression")

    server = scheduling_server["PREFECT_API_URL"]
    endpoint = WorseningEndpoint()
    with serve_teacher(endpoint):
        options = ("--scale", "smoke", "--endpoint-url", endpoint.base_url, "--endpoint-model", MODEL)
        run_flow(home, "reevaluate", *options, server=server)
        assert [verdict for verdict, _ in regressions(home)] == ["first", "first"]
        endpoint.is_worse = True
        run_flow(home, "reevaluate", *options, server=server)
    assert regressions(home) == [("regression", 20)] * 2
    found = client.read_flow_runs(sort=FlowRunSort.START_TIME_DESC)
    newest = next(run for run in found if "stage:reevaluation" in run.tags)
    assert newest.state is not None
    assert newest.state.name == "Completed"
    assert "verdict:regression" in newest.tags
    assert (newest.state.message or "").startswith("regression in 2 cells")
    alert = wait_until(lambda: said and said[0])
    assert alert["subject"].startswith(f"carryover: smoke: {MODEL} on ")
    assert alert["subject"].endswith(" is worse than its baseline")
    assert "over 20 pairs" in alert["body"]
