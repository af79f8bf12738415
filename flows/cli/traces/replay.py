"""A run described and an episode replayed, by id or a part of it."""

import json
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.rule import Rule
from rich.syntax import Syntax

from carryover.flows.cli.folders import choose_plan
from carryover.flows.cli.screen import plain, screen, visible
from carryover.storage.warehouse.reader import Warehouse
from carryover.tasks.analysis.queries import command_sql
from carryover.tasks.services.errors import UserError


def describe_run(warehouse: Warehouse, start: str) -> dict[str, object]:
    """Return a run's plan, environment and servers, as JSON values.

    Raise `UserError` if no run's id starts so, which names the latest, or several do.
    """
    rows = warehouse.sql(command_sql("described_runs"), start=start).rows()
    if not rows:
        known = [row[0] for row in warehouse.sql(command_sql("latest_runs")).rows()]
        raise UserError(f"no run {start!r}; the latest are {', '.join(known) or 'none'}")
    if len(rows) > 1 and rows[0][0] != start:
        raise UserError(f"several runs start with {start!r}: {', '.join(row[0] for row in rows)}; give more digits")
    run_id, name, plan, environment = rows[0]
    return {
        "plan_name": name,
        "plan": json.loads(plan),
        "environment": json.loads(environment),
        "servers": [json.loads(row[0]) for row in warehouse.sql(command_sql("run_servers"), run_id=run_id).rows()],
    }


def print_episode(warehouse: Warehouse, name: str, plan: str | None) -> None:
    """Print an episode by its id, its instance, or the first digits of its id.

    Raise `UserError` if the name fits no episode of the plan, or several.
    """
    episode = _find_episode(warehouse, name, plan)
    console = screen()
    summary = (
        "{trained} -> {runtime_contract} on {bucket}, instance {instance_id}\n"
        "plan {plan_name} ({scale}), variant {variant}, model {model_name}\n"
        "sandbox {sandbox_level}, backend {backend}, run {run_id}"
    ).format(trained=_who_played(episode), **episode)
    summary += _reuse(episode)
    console.print(Panel(plain(summary), title=plain(f"episode {episode['episode_id']}")))
    rows = warehouse.sql(command_sql("episode_turns"), episode_id=episode["episode_id"]).arrow().to_pylist()
    for number, steps in groupby(rows, itemgetter("turn")):
        if number > 0:
            console.print(_turn(list(steps)))
            continue
        for message in json.loads(next(steps)["observation"] or "[]"):
            console.print(Panel(plain(message["content"]), title=plain(message["role"]), border_style="dim"))
    console.print(Rule(plain(_ending(episode))))


def _find_episode(warehouse: Warehouse, name: str, plan: str | None) -> dict[str, Any]:
    matches = warehouse.sql(command_sql("found_episodes"), name=name).arrow().to_pylist()
    digest = choose_plan(warehouse, plan) if plan else warehouse.latest_plan()
    if not matches:
        way_out = '`carryover query "select episode_id, instance_id from episodes"` lists them'
        raise UserError(f"no episode has the instance {name!r} or an id that starts so; {way_out}")
    of_plan = [row for row in matches if digest in (None, row["plan_digest"])]
    if not of_plan:
        others = ", ".join(sorted({row["plan_digest"] for row in matches}))
        raise UserError(f"plan {digest} has no episode {name!r}; name a plan that has one: --plan {others}")
    # where no plan is chosen and several have it: as the last row has it, that of the plan that played it
    each_once = {row["episode_id"]: row for row in of_plan}
    found = _best_matches(list(each_once.values()), name)
    if len(found) > 1:
        listed = ", ".join(map(_described, found[:5])) + (", ..." if len(found) > 5 else "")
        raise UserError(f"several episodes fit {name!r}: {listed}; give an id, or more of its digits")
    return found[0]


def _best_matches(matches: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """Return the episode of this id, else the instance's, else all."""
    same_id = [row for row in matches if row["episode_id"] == name]
    same_instance = [row for row in matches if row["instance_id"] == name]
    return same_id or same_instance or matches


def _described(episode: dict[str, Any]) -> str:
    return (
        f"{episode['episode_id']} ({_who_played(episode)} -> {episode['runtime_contract']}, {episode['instance_id']})"
    )


def _ending(episode: dict[str, Any]) -> str:
    score = "unknown" if episode["score"] is None else f"{episode['score']:.3f}"
    tokens = episode["prompt_tokens"] + episode["completion_tokens"]
    is_counted = tokens > 0 or episode["token_source"] != "imported"
    counted = "unknown"
    if is_counted:
        counted = f"{tokens:,}"
    return f"{episode['finish_reason']} after {episode['turn_count']} turns, score {score}, {counted} tokens"


def _who_played(episode: dict[str, Any]) -> str:
    """Return the contract of a model's training, or another player."""
    contract = episode["train_contract"]
    if episode["base"] == "teacher":
        if contract:
            return f"script of {contract}"
        return "teacher"
    return contract or "base"


def _reuse(episode: dict[str, Any]) -> str:
    """Return a line with the plans that played and reused an episode, or nothing."""
    if episode["plan_digest"] == episode["playing_plan_digest"]:
        return ""
    return f"\nplayed for plan {episode['playing_plan_digest']}, reused by plan {episode['plan_digest']}"


def _turn(steps: Sequence[dict[str, Any]]) -> Group:
    """Return a turn to print: its reply and observation once, and each block that it ran."""
    turn = steps[0]
    parts: list = [Rule(f"turn {turn['turn']}")]
    reflection = turn["assistant_text"].split("```")[0].strip()
    if reflection:
        parts.append(plain(reflection))
    for step in steps:
        parts += _block(step)
    if turn["code"] is None and turn["assistant_text"].strip() != reflection:
        parts.append(Panel(plain(turn["assistant_text"]), title="reply", title_align="left"))
    if turn["observation"] is not None:
        parts.append(Panel(plain(_observation(turn["observation"])), title="observation", title_align="left"))
    if turn["active_globals"] or turn["last_step_globals"]:
        active = ", ".join(turn["active_globals"]) or "none"
        last = ", ".join(turn["last_step_globals"]) or "none"
        parts.append(plain(f"alive now: {active}; when the block ended: {last}", style="dim"))
    return Group(*parts)


def _block(step: dict[str, Any]) -> list[RenderableType]:
    """Return a step's fault and code to print, where it has them."""
    parts: list[RenderableType] = []
    if step["injected_fault"]:
        parts.append(plain(f"injected fault: {step['injected_fault']}", style="yellow"))
    if step["code"] is not None:
        code = Syntax(visible(step["code"]), "python", word_wrap=True)
        parts.append(Panel(code, title="code", title_align="left"))
    return parts


def _observation(text: str) -> str:
    """Return an observation with its JSON and its line breaks laid out."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        return text
    return json.dumps(value, indent=2, ensure_ascii=False).replace("\\n", "\n    ")
