"""The page of an episode: turns, and the state lane."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from carryover.tasks.analysis.asking import Ask
from carryover.tasks.services.errors import UserError
from carryover.tasks.viewer.code_lines import code_lines
from carryover.tasks.viewer.lane import LaneName, state_lane
from carryover.tasks.viewer.step_lint import episode_lint
from carryover.tasks.viewer.warehouse_rows import rows

Row = Mapping[str, Any]
_FENCE = "```"
_TABLES = ("turns", "steps", "name_events", "tool_calls", "errors", "runtime_events")
_IDS = ("run_id", "episode_id")


def episode_page(ask: Ask, episode_id: str) -> dict[str, Any]:
    """Return an episode as JSON values.

    Raise `UserError` for an unknown id.
    """
    for page in episode_pages(ask, [episode_id]):
        return page
    raise UserError(f"no episode {episode_id!r}; the study page lists the plan's episodes")


def episode_pages(ask: Ask, episode_ids: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the pages of the episodes that exist, ordered by id.

    A query per table reads all of them.
    """
    held = {table: _of_episodes(rows(ask, table, episode_ids=episode_ids)) for table in _TABLES}
    for head in rows(ask, "episode_heads", episode_ids=episode_ids):
        yield _page(head, {table: found.get(head["episode_id"], []) for table, found in held.items()})


def _page(head: dict[str, Any], held: Mapping[str, list[Row]]) -> dict[str, Any]:
    declared = json.loads(head.pop("contract_json"))
    lane = state_lane(held["steps"], held["name_events"], held["errors"])
    turns = [turn for turn in held["turns"] if turn["turn"] > 0]
    return {
        "episode": head,
        "contract": declared,
        "opening": _opening(held["turns"]),
        "turns": _turns(turns, held),
        "lane": [_lane_values(name) for name in lane.names],
        "missing": [missing._asdict() for missing in lane.missing],
        "lint": episode_lint(head, turns, held["steps"]),
        "runtime_events": _without_ids(held["runtime_events"]),
    }


def _opening(turns: Sequence[Row]) -> list[dict[str, str]]:
    """Return the messages before the first reply."""
    if turns and turns[0]["turn"] == 0 and turns[0]["observation"]:
        return json.loads(turns[0]["observation"])
    return []


def _turns(turns: Sequence[Row], held: Mapping[str, list[Row]]) -> list[dict[str, Any]]:
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


def _lane_values(name: LaneName) -> dict[str, Any]:
    return {**name._asdict(), "cells": [cell._asdict() for cell in name.cells]}


def _of_episodes(found: Iterable[Row]) -> dict[str, list[Row]]:
    episodes: dict[str, list[Row]] = {}
    for row in found:
        episodes.setdefault(row["episode_id"], []).append(row)
    return episodes


def _grouped(found: Iterable[Row], key: str) -> dict[int, list[Row]]:
    groups: dict[int, list[Row]] = {}
    for row in found:
        groups.setdefault(row[key], []).append(row)
    return groups


def _without_ids(found: Iterable[Row]) -> list[dict[str, Any]]:
    return [_without(row, _IDS) for row in found]


def _without(row: Row, names: Sequence[str]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}
