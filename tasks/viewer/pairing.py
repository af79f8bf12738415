"""Pairs of episodes: the same instance, seed and setting under two cells."""

from collections.abc import Mapping, Sequence
from typing import Any

from carryover.tasks.services.errors import UserError

Row = Mapping[str, Any]
SAME = ("purpose", "variant", "base", "visibility", "header", "bucket", "training_seed", "replicate", "instance_id")
"""Columns in which the episodes of a pair agree."""

OTHER_RUNTIME = {"P": "S", "S": "P"}
"""The aligned cells of the 2x2 stand beside its mismatched ones first."""


def find_episode(episodes: Sequence[Row], cell: str, instance: str) -> Row:
    """Return the first episode of a cell and an instance.

    A trained model goes before a script. Raise `UserError` for no instance or several.
    """
    condition = cell.replace("→", "->")
    of_cell = [row for row in episodes if row["condition"] == condition]
    if not of_cell:
        known = ", ".join(dict.fromkeys(row["condition"] for row in episodes))
        raise UserError(f"no episode of cell {cell!r}; choose from {known or 'none'}")
    found = _of_instance(of_cell, instance)
    if not found:
        most = max(row["instance_number"] for row in of_cell)
        raise UserError(f"no episode of {condition} on instance {instance!r}; choose from 1 to {most}, or give an id")
    return min(found, key=lambda row: row["model"] != "sft")


def partner_of(episodes: Sequence[Row], episode: Row) -> Row:
    """Return the episode to show beside another one.

    A mismatched cell stands beside its aligned one, an aligned cell beside its mismatched one. Raise `UserError` where
    the instance was played in no other cell.
    """
    others = [row for row in episodes if row is not episode and _is_pair(row, episode)]
    if not others:
        raise UserError(f"instance {episode['instance_number']} has no episode beside {episode['condition']}")
    beside = [row for row in others if _stands_beside(row["condition"], episode["condition"])]
    train, _, runtime = episode["condition"].partition("->")
    if train == runtime:
        crossed = f"{train}->{OTHER_RUNTIME.get(train)}"
        beside.sort(key=lambda row: row["condition"] != crossed)
    return (beside or others)[0]


def _is_pair(row: Row, other: Row) -> bool:
    return all(row[name] == other[name] for name in SAME)


def _stands_beside(other: str, condition: str) -> bool:
    """Tell whether a cell is a counterpart of `condition`, of the same model.

    A mismatched cell stands beside the model's aligned one, an aligned cell beside any other.
    """
    train, _, runtime = condition.partition("->")
    other_train, _, other_runtime = other.partition("->")
    if other_train != train:
        return False
    is_aligned = train == runtime
    return is_aligned or other_train == other_runtime


def _of_instance(episodes: Sequence[Row], instance: str) -> list[Row]:
    """Return the episodes of an instance: its name goes before its number, and before a beginning."""
    named = [row for row in episodes if row["instance_id"] == instance]
    if named:
        return named
    if instance.isdecimal():
        return [row for row in episodes if row["instance_number"] == int(instance)]
    return _beginning_with(episodes, instance)


def _beginning_with(episodes: Sequence[Row], start: str) -> list[Row]:
    found = [row for row in episodes if row["instance_id"].startswith(start)]
    names = sorted({row["instance_id"] for row in found})
    if len(names) > 1:
        raise UserError(f"several instances start with {start!r}: {', '.join(names[:5])}; give the whole name")
    return found
