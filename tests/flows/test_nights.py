"""Nights: the schedule of the real deployments starts runs, and a night that does not happen alerts."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import yaml
from prefect.blocks.notifications import CustomWebhookNotificationBlock
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterDeploymentId
from prefect.settings import PREFECT_API_URL, temporary_settings

from carryover.flows.cli.machine.automations import declare_automation
from carryover.flows.cli.machine.server_health import server_lines
from tests.flows.deploying import deploy, prefect, wait_until, worker
from tests.flows.flow_process import ROOT

NIGHTLY = "nightly-reevaluation"
SECONDS_BETWEEN_NIGHTS = 20


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


def declare_missed_night(client, address):
    """Declare the automation with the shortest window that Prefect knows, and a webhook to notify."""
    fields = {"subject": "{{subject}}", "body": "{{body}}"}
    block = CustomWebhookNotificationBlock.model_validate({"name": "alerts", "url": address, "json_data": fields})
    block.save("carryover-alerts")
    declared = yaml.safe_load((ROOT / "deployments" / "automations.yaml").read_text())["automations"]
    (missed,) = (each for each in declared if each["name"] == "carryover-missed-night")
    missed["trigger"]["within"] = 10
    declare_automation(client, missed)


@pytest.mark.prefect
@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_schedule_starts_nights_and_their_absence_alerts(scheduling_server, client, notified, tmp_path):
    """Without a study each night ends as Skipped, so none ends in a verdict."""
    deploy_with_short_nights(scheduling_server, tmp_path)
    nightly = client.read_deployment_by_name(f"reevaluate-model/{NIGHTLY}").id
    of_nightly = FlowRunFilter(deployment_id=FlowRunFilterDeploymentId(any_=[nightly]))

    def errors():
        return [line for line in (tmp_path / "server.log").read_text().splitlines() if "ERROR" in line]

    def ended():
        assert errors() == []
        runs = client.read_flow_runs(flow_run_filter=of_nightly)
        return [run for run in runs if run.auto_scheduled and run.state and run.state.is_final()]

    with worker(scheduling_server, "cpu", tmp_path / "cpu.log") as cpu:
        (first, *_) = wait_until(ended, cpu)
        assert first.state_name == "Skipped", first.state
        (schedule,) = (line for line in server_lines(80) if line.startswith("schedule of "))
        assert schedule.startswith(f"schedule of {NIGHTLY}: next run ")
        (pool,) = (line for line in server_lines(200) if line.startswith("work pool cpu: "))
        assert " GiB)" in pool

    said, address = notified
    declare_missed_night(client, address)
    alert = wait_until(lambda: said and said[0])
    assert alert["subject"] == "carryover: no night in 25 hours"
    assert errors() == []
