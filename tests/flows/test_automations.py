"""The automations of `deployments/` are valid, and follow the event that a night emits."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import yaml

from carryover.flows.cli.automations import declare_automation
from carryover.tasks.judge import REGRESSION_EVENT

(DECLARED,) = yaml.safe_load((Path(__file__).parents[2] / "deployments" / "automations.yaml").read_text())[
    "automations"
]


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


def test_a_regression_is_recorded_and_a_block_makes_it_a_notification():
    server: Any = Server()  # of the client, the methods above
    assert declare_automation(server, DECLARED) == (
        "automation 'carryover-regression' is created; it notifies nobody: make a notification block "
        "'carryover-alerts' and deploy again"
    )
    (automation,) = server.kept.values()
    assert automation.trigger.expect == {REGRESSION_EVENT}
    assert [action.type for action in automation.actions] == ["do-nothing"]

    server.blocks = Server("carryover-alerts").blocks
    assert declare_automation(server, DECLARED) == "automation 'carryover-regression' is changed"
    (automation,) = server.kept.values()
    (action,) = automation.actions
    assert (action.type, action.block_document_id) == ("send-notification", UUID(int=1))
