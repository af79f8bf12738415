"""Declares the automations of a file on the configured Prefect server; `make deploy` calls it as a program."""

import logging
import sys
from pathlib import Path
from typing import Any

import yaml
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.events.schemas.automations import AutomationCore


def declare_automation(client: SyncPrefectClient, declared: dict[str, Any]) -> str:
    """Create an automation, or change the one of its name, and return a line about it."""
    actions: list[dict[str, Any]] = []
    lacking: list[str] = []
    for action in declared["actions"]:
        if (name := action.get("block")) is None:
            actions.append(action)
        elif named := [each.id for each in client.read_block_documents() if each.name == name]:
            rest = {field: value for field, value in action.items() if field != "block"}
            actions.append({**rest, "block_document_id": named[0]})
        else:
            actions.append({"type": "do-nothing"})
            lacking.append(name)
    automation = AutomationCore.model_validate({**declared, "actions": actions})
    found = client.read_automations_by_name(automation.name)
    if found:
        client.update_automation(found[0].id, automation)
    else:
        client.create_automation(automation)
    told = f"automation {automation.name!r} is {'changed' if found else 'created'}"
    blocks = ", ".join(map(repr, lacking))
    return f"{told}; notifications are disabled: create the block {blocks} and deploy again" if lacking else told


if __name__ == "__main__":
    logging.getLogger("prefect").setLevel(logging.CRITICAL)
    with get_client(sync_client=True) as client:
        for declared in yaml.safe_load(Path(sys.argv[1]).read_text(encoding="utf-8"))["automations"]:
            print(declare_automation(client, declared))
