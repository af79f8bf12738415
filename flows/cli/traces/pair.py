"""Two episodes of an instance side by side on a terminal."""

from collections.abc import Mapping
from itertools import zip_longest
from typing import Any, NamedTuple

from rich.console import Group
from rich.rule import Rule
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from carryover.flows.cli.asking import ask_of
from carryover.flows.cli.folders import choose_plan
from carryover.flows.cli.screen import plain, screen, visible
from carryover.flows.cli.traces.replay import print_episode
from carryover.storage.warehouse.reader import Warehouse
from carryover.tasks.services.errors import UserError
from carryover.tasks.viewer.episode_page import episode_page
from carryover.tasks.viewer.pairing import find_episode, partner_of
from carryover.tasks.viewer.warehouse_rows import rows

LONGEST_OBSERVATION = 600
"""Characters of an observation on half a screen."""


class Asked(NamedTuple):
    """Name of an episode: its id, or a cell and an instance."""

    episode_id: str | None
    cell: str | None
    instance: str | None


def print_asked(warehouse: Warehouse, plan: str | None, asked: Asked, *, is_pair: bool) -> None:
    """Print an episode, alone or beside its pair.

    Raise `UserError` where nothing names it, or a pair is asked for by an id.
    """
    episode_id, cell, instance = asked
    if cell is not None and instance is not None:
        if is_pair:
            print_pair(warehouse, plan, cell, instance)
            return
        episode_id = find_episode(_episodes(warehouse, plan), cell, instance)["episode_id"]
    elif is_pair:
        raise UserError("--pair wants --cell and --instance")
    if episode_id is None:
        raise UserError("name an episode: its id, or --cell and --instance")
    print_episode(warehouse, episode_id, plan)


def print_pair(warehouse: Warehouse, plan: str | None, cell: str, instance: str) -> None:
    """Print an episode beside another cell's, turn by turn."""
    episodes = _episodes(warehouse, plan)
    episode = find_episode(episodes, cell, instance)
    partner = partner_of(episodes, episode)
    left = episode_page(ask_of(warehouse), episode["episode_id"])
    right = episode_page(ask_of(warehouse), partner["episode_id"])
    table = Table.grid(padding=(0, 2), expand=True)
    table.add_column(ratio=1)
    table.add_column(ratio=1)
    table.add_row(_head(episode, left), _head(partner, right))
    for first, second in zip_longest(left["turns"], right["turns"]):
        table.add_row(_turn(first, left), _turn(second, right))
    screen().print(table)


def _episodes(warehouse: Warehouse, plan: str | None) -> list[dict[str, Any]]:
    return rows(ask_of(warehouse), "episodes", plan_digest=choose_plan(warehouse, plan))


def _head(episode: Mapping[str, Any], page: dict[str, Any]) -> Group:
    score = "unknown"
    if episode["score"] is not None:
        score = f"{episode['score']:.3f}"
    tokens = "unknown"
    if episode["total_tokens"] is not None:
        tokens = f"{episode['total_tokens']:,}"
    ending = f"{episode['finish_reason']} after {episode['turn_count']} turns, {tokens} tokens"
    return Group(
        plain(f"{episode['condition']} on instance {episode['instance_number']}", style="bold"),
        plain(f"episode {episode['episode_id']}", style="dim"),
        plain(f"score {score}, {ending}"),
        _first_missing(page),
    )


def _first_missing(page: dict[str, Any]) -> Text:
    if not page["missing"]:
        return plain("no missing name", style="dim")
    first = page["missing"][0]
    return plain(f"first missing name: {first['name']} in step {first['step']}, {_fate(first)}", style="bold red")


def _fate(missing: dict[str, Any]) -> str:
    """Return what had become of a missing name."""
    if missing["is_injected"]:
        return "dropped by the harness"
    if missing["lost_step"] is not None:
        return f"lost at the end of step {missing['lost_step']}"
    if missing["bound_step"] is not None:
        return f"bound by step {missing['bound_step']}"
    return "bound by no step"


def _turn(turn: dict[str, Any] | None, page: dict[str, Any]) -> Group:
    if turn is None:
        return Group(Rule(style="dim"), plain("ended", style="dim"))
    parts: list[Any] = [Rule(f"turn {turn['turn']}", style="dim")]
    if turn["before"]:
        parts.append(plain(turn["before"]))
    for step in turn["steps"]:
        parts.append(Syntax(visible(step["code"]), "python", word_wrap=True, background_color="default"))
        missing = [each["name"] for each in page["missing"] if each["step"] == step["step"]]
        parts += [plain(f"missing: {name}", style="bold red") for name in missing]
    if turn["observation"] is not None:
        parts.append(plain(_shortened(turn["observation"]), style="dim"))
    return Group(*parts)


def _shortened(text: str) -> str:
    if len(text) <= LONGEST_OBSERVATION:
        return text
    return f"{text[:LONGEST_OBSERVATION]} ... {len(text):,} characters"
