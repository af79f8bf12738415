"""The automations of `deployments/` are valid, and follow the events of nights and no others."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import pytest
import yaml
from prefect.client.schemas.objects import FlowRun, StateType
from prefect.context import FlowRunContext
from prefect.events.related import related_resources_from_run_context
from prefect.server.events.schemas.automations import EventTrigger, Posture
from prefect.server.events.schemas.events import ReceivedEvent

from carryover.flows.cli.machine.automations import ALERT_BLOCK, declare_automation
from carryover.flows.reevaluate_model import reevaluate_model
from carryover.tasks.judge import NIGHT_EVENT, REGRESSION_EVENT, announce, announce_night
from carryover.tasks.nightly.night_spec import SERIES
from carryover.tasks.traces.result_rows import NightVerdictRow
from tests.storage.conftest import build_row

FOLDER = Path(__file__).parents[2] / "deployments"
REGRESSION, MISSED_NIGHT, ZOMBIES = yaml.safe_load((FOLDER / "automations.yaml").read_text())["automations"]
DEPLOYED = yaml.safe_load((FOLDER / "prefect.yaml").read_text())["deployments"]
(NIGHTLY,) = (each["name"] for each in DEPLOYED if each["entrypoint"].endswith(".reevaluate_model"))
RUN: Any = SimpleNamespace(plan=SimpleNamespace(name="laptop", digest="2f3a"))


class Origin(NamedTuple):
    """Where an event is emitted: a flow's run, of a deployment or by hand."""

    flow: str = reevaluate_model.name
    deployment: str | None = NIGHTLY


NIGHT = Origin()
BY_HAND = Origin(deployment=None)
ELSEWHERE = (BY_HAND, Origin(deployment="study"), Origin(flow=NIGHTLY, deployment="study"))


class Server:
    """Keeps automations, and has the notification blocks that it is given."""

    def __init__(self, *blocks):
        self.blocks = [SimpleNamespace(name=name, id=UUID(int=1)) for name in blocks]
        self.kept = {}

    def read_block_documents(self):
        return self.blocks

    def read_automations_by_name(self, name):
        return [SimpleNamespace(id=name)] if name in self.kept else []

    def create_automation(self, automation):
        assert automation.name not in self.kept
        self.kept[automation.name] = automation

    def update_automation(self, automation_id, automation):
        self.kept[automation_id] = automation


class Client:
    """Knows the flow and the deployment of a run."""

    def __init__(self, origin: Origin):
        self.flow = SimpleNamespace(id=uuid4(), name=origin.flow)
        self.deployment = SimpleNamespace(id=uuid4(), name=origin.deployment, tags=["night"])

    async def read_flow(self, _: UUID) -> Any:
        return self.flow

    async def read_deployment(self, _: UUID) -> Any:
        return self.deployment


def received(origin: Origin, **told: Any) -> ReceivedEvent:
    """Return an event as Prefect's server gets it, with the related resources that the run adds."""
    client: Any = Client(origin)
    run = FlowRun(name="laptop-2f3a", flow_id=client.flow.id)
    if origin.deployment is not None:
        run.deployment_id = client.deployment.id
    with FlowRunContext.model_construct(flow_run=run):
        related = asyncio.run(related_resources_from_run_context(client))
    resources = [each.model_dump() for each in related]
    return ReceivedEvent.model_validate({"id": uuid4(), "occurred": datetime.now(UTC), "related": resources, **told})


@pytest.fixture
def emitted(monkeypatch) -> list[dict[str, Any]]:
    """What nights emit."""
    emitted = []
    monkeypatch.setattr("carryover.tasks.judge.emit_event", lambda **told: emitted.append(told))
    return emitted


def test_every_notification_goes_to_the_alert_block():
    actions = [*REGRESSION["actions"], *MISSED_NIGHT["actions"], *ZOMBIES["actions"]]
    assert {action["block"] for action in actions if action["type"] == "send-notification"} == {ALERT_BLOCK}


def test_regression_is_recorded_and_notified_through_a_block():
    server: Any = Server()  # of the client, the methods above
    assert declare_automation(server, REGRESSION) == (
        "automation 'carryover-regression' is created; notifications are disabled: "
        "create the block 'carryover-alerts' and deploy again"
    )
    (automation,) = server.kept.values()
    assert automation.trigger.expect == {REGRESSION_EVENT}
    assert [action.type for action in automation.actions] == ["do-nothing"]

    server.blocks = Server("carryover-alerts").blocks
    assert declare_automation(server, REGRESSION) == "automation 'carryover-regression' is changed"
    (automation,) = server.kept.values()
    (action,) = automation.actions
    assert (action.type, action.block_document_id) == ("send-notification", UUID(int=1))


def test_night_without_a_verdict_alerts_within_two_days():
    server: Any = Server("carryover-alerts")
    assert declare_automation(server, MISSED_NIGHT) == "automation 'carryover-missed-night' is created"
    trigger = EventTrigger.model_validate(MISSED_NIGHT["trigger"])
    assert trigger.posture == Posture.Proactive
    assert trigger.after == set()  # it counts from the deploy on, also where no night ever runs
    assert trigger.expect == {NIGHT_EVENT}
    assert timedelta(days=1) < trigger.within < timedelta(days=2)


@pytest.mark.parametrize("elsewhere", ELSEWHERE)
def test_night_of_the_deployment_is_not_missed(emitted, elsewhere):
    announce_night(RUN, SERIES, "identical in 2 cells")
    (told,) = emitted
    named = {label: told["resource"][label] for label in ("prefect.resource.name", "carryover.series")}
    assert named == {"prefect.resource.name": "laptop", "carryover.series": SERIES}
    assert told["payload"] == {"message": "identical in 2 cells"}
    trigger = EventTrigger.model_validate(MISSED_NIGHT["trigger"])
    assert trigger.covers(received(NIGHT, **told))
    assert not trigger.covers(received(elsewhere, **told))


def test_only_the_regression_of_a_model_is_notified(emitted):
    announce(build_row(NightVerdictRow, plan_digest="2f3a", base="scratch", model_name="persistent-0"), RUN)
    announce_night(RUN, SERIES, "regression in 1 cell")
    regression, night = emitted
    trigger = EventTrigger.model_validate(REGRESSION["trigger"])
    assert trigger.covers(received(NIGHT, **regression))
    assert trigger.covers(received(BY_HAND, **regression))
    assert not trigger.covers(received(NIGHT, **night))
    assert not trigger.covers(received(NIGHT, event=REGRESSION_EVENT, resource=night["resource"]))
    assert not EventTrigger.model_validate(MISSED_NIGHT["trigger"]).covers(received(NIGHT, **regression))


@pytest.mark.parametrize("end", ["Completed", "OfItsOwnName", "Crashed"])
def test_run_without_heartbeat_crashes_unless_it_ended(end):
    server: Any = Server()
    assert declare_automation(server, ZOMBIES) == "automation 'carryover-zombies' is created"
    trigger = EventTrigger.model_validate(ZOMBIES["trigger"])
    assert trigger.starts_after("prefect.flow-run.heartbeat")
    assert trigger.expects("prefect.flow-run.heartbeat")
    assert trigger.expects(f"prefect.flow-run.{end}")
    assert not trigger.starts_after(f"prefect.flow-run.{end}")
    run = {"prefect.resource.id": f"prefect.flow-run.{uuid4()}"}
    assert trigger.covers(received(BY_HAND, event=f"prefect.flow-run.{end}", resource=run))
    assert trigger.within > 3 * timedelta(seconds=180)  # heartbeats of workers and, by default, of every other flow
    (action,) = server.kept["carryover-zombies"].actions
    assert (action.type, action.state) == ("change-flow-run-state", StateType.CRASHED)
