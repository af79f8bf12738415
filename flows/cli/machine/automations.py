"""Declare a file's automations on the Prefect server, for `make deploy`."""

import logging
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

import yaml
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.events.schemas.automations import AutomationCore

OURS = "carryover-"
"""Begins the names of the automations that `make deploy` declares."""
ALERT_BLOCK = "carryover-alerts"
"""Notification block of those that notify."""


def declare_automation(client: SyncPrefectClient, declared: dict[str, Any]) -> str:
    """Create or change an automation by name, and return a line."""
    blocks = {each.name: each.id for each in client.read_block_documents() if each.name is not None}
    lacking = [name for name in _named_blocks(declared) if name not in blocks]
    actions = [_with_block(action, blocks) for action in declared["actions"]]
    automation = AutomationCore.model_validate({**declared, "actions": actions})
    found = client.read_automations_by_name(automation.name)
    if found:
        client.update_automation(found[0].id, automation)
    else:
        client.create_automation(automation)
    outcome = f"automation {automation.name!r} is {'changed' if found else 'created'}"
    if not lacking:
        return outcome
    missing = ", ".join(map(repr, lacking))
    return f"{outcome}; notifications are disabled: create the block {missing} and deploy again"


def _named_blocks(declared: dict[str, Any]) -> list[str]:
    return [action["block"] for action in declared["actions"] if "block" in action]


def _with_block(action: dict[str, Any], blocks: Mapping[str, UUID]) -> dict[str, Any]:
    """Return an action with its block's id, or one that does nothing.

    It does nothing where the block is missing.
    """
    name = action.get("block")
    if name is None:
        return action
    if name not in blocks:
        return {"type": "do-nothing"}
    rest = {field: value for field, value in action.items() if field != "block"}
    return {**rest, "block_document_id": blocks[name]}


if __name__ == "__main__":
    logging.getLogger("prefect").setLevel(logging.CRITICAL)
    with get_client(sync_client=True) as client:
        for declared in yaml.safe_load(Path(sys.argv[1]).read_text(encoding="utf-8"))["automations"]:
            print(declare_automation(client, declared))
