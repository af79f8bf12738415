"""The automations of `deployments/` are valid, and follow the event that a night emits."""

from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
import yaml
from prefect.client.schemas.objects import StateType
from prefect.server.events.schemas.automations import EventTrigger, Posture

from carryover.flows.cli.machine.automations import ALERT_BLOCK, declare_automation
from carryover.tasks.judge import NIGHT_EVENT, REGRESSION_EVENT

FOLDER = Path(__file__).parents[2] / "deployments"
REGRESSION, MISSED_NIGHT, ZOMBIES = yaml.safe_load((FOLDER / "automations.yaml").read_text())["automations"]
DEPLOYED = yaml.safe_load((FOLDER / "prefect.yaml").read_text())["deployments"]


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
    assert MISSED_NIGHT["trigger"]["match_related"]["prefect.resource.name"] in {one["name"] for one in DEPLOYED}


@pytest.mark.parametrize("end", ["Completed", "OfItsOwnName", "Crashed"])
def test_run_without_heartbeat_crashes_unless_it_ended(end):
    server: Any = Server()
    assert declare_automation(server, ZOMBIES) == "automation 'carryover-zombies' is created"
    trigger = EventTrigger.model_validate(ZOMBIES["trigger"])
    assert trigger.starts_after("prefect.flow-run.heartbeat")
    assert trigger.expects("prefect.flow-run.heartbeat")
    assert trigger.expects(f"prefect.flow-run.{end}")
    assert not trigger.starts_after(f"prefect.flow-run.{end}")
    assert trigger.within > 3 * timedelta(seconds=180)  # heartbeats of workers and, by default, of every other flow
    (action,) = server.kept["carryover-zombies"].actions
    assert (action.type, action.state) == ("change-flow-run-state", StateType.CRASHED)
