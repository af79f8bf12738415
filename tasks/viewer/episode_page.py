"""The page of an episode: turns with their blocks, calls and errors, and the state lane."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from carryover.tasks.services.errors import UserError
from carryover.tasks.viewer.code_lines import code_lines
from carryover.tasks.viewer.lane import Lane, state_lane
from carryover.tasks.viewer.warehouse_rows import Ask, rows

Row = Mapping[str, Any]
_FENCE = "```"
_IDS = ("run_id", "episode_id")


def episode_page(ask: Ask, episode_id: str) -> dict[str, Any]:
    """Return an episode as JSON values.

    Raise `UserError` for an unknown id.
    """
    found = rows(ask, "episode", episode_id=episode_id)
    if not found:
        raise UserError(f"no episode {episode_id!r}; the study page lists the plan's episodes")
    tables = ("turns", "steps", "name_events", "tool_calls", "errors", "runtime_events")
    held = {table: rows(ask, table, episode_id=episode_id) for table in tables}
    episode = found[0]
    declared = json.loads(episode.pop("contract_json"))
    turns = [turn for turn in held["turns"] if turn["turn"] > 0]
    lane = state_lane(held["steps"], held["name_events"], held["errors"])
    return {
        "episode": episode,
        "contract": declared,
        "opening": _opening(held["turns"]),
        "turns": _turns(turns, held),
        "lane": _lane_values(lane),
        "missing": [missing._asdict() for missing in lane.missing],
        "runtime_events": _without_ids(held["runtime_events"]),
    }


def _opening(turns: Sequence[Row]) -> list[dict[str, str]]:
    """Return the messages before the first reply."""
    if turns and turns[0]["turn"] == 0 and turns[0]["observation"]:
        return json.loads(turns[0]["observation"])
    return []


def _turns(turns: Sequence[Row], held: Mapping[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    steps_of = _grouped(held["steps"], "turn")
    calls_of = _grouped(held["tool_calls"], "step")
    errors_of = _grouped(held["errors"], "turn")
    shown = []
    for turn in turns:
        steps = steps_of.get(turn["turn"], [])
        before, after = split_reply(turn["assistant_text"], [step["code"] for step in steps])
        shown.append(
            {
                **_without(turn, _IDS),
                "before": before,
                "after": after,
                "errors": _without_ids(errors_of.get(turn["turn"], [])),
                "steps": [_step(step, calls_of.get(step["step"], [])) for step in steps],
            }
        )
    return shown


def _step(step: Row, calls: Sequence[Row]) -> dict[str, Any]:
    return {**_without(step, _IDS), "lines": code_lines(step["code"]), "calls": _without_ids(calls)}


def split_reply(text: str, blocks: Sequence[str]) -> tuple[str, str]:
    """Return a reply's text before its first block and after it.

    A reply without a block that ran, or whose block stands elsewhere, is all before.
    """
    if not blocks:
        return text.strip(), ""
    opening = text.find(_FENCE)
    start = text.find(blocks[0].strip(), max(opening, 0))
    if opening < 0 or start < 0:
        return text.strip(), ""
    rest = text[start + len(blocks[0].strip()) :]
    return text[:opening].strip(), rest.strip().removeprefix(_FENCE).strip()


def _lane_values(lane: Lane) -> list[dict[str, Any]]:
    return [
        {
            "name": name.name,
            "is_definition": name.is_definition,
            "cells": [cell._asdict() for cell in name.cells],
        }
        for name in lane.names
    ]


def _grouped(found: Iterable[Row], key: str) -> dict[int, list[Row]]:
    groups: dict[int, list[Row]] = {}
    for row in found:
        groups.setdefault(row[key], []).append(row)
    return groups


def _without_ids(found: Iterable[Row]) -> list[dict[str, Any]]:
    return [_without(row, _IDS) for row in found]


def _without(row: Row, names: Sequence[str]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}
