"""What a study's command prints: the estimate of a dry run, and the summary of a finished plan."""

import os
import shutil
import sys
from pathlib import Path

import polars as pl
import typer
from rich.table import Table

from flows.cli.places import command_sql
from flows.cli.screen import screen
from flows.cli.tables import read_table
from flows.cli.trainings import plan_trainings, print_trainings
from storage.finished import count_failed_episodes
from storage.landing import LandingZone
from storage.warehouse import Warehouse
from tasks.analysis.queries import table_query
from tasks.analysis.summary import study_summary
from tasks.plans.estimate import estimate_study
from tasks.plans.machine_stages import StageEstimate
from tasks.plans.run import Limits
from tasks.plans.spec import StudyPlan
from tasks.running.places import name_places

SHOWN_HOURS = 0.01
"""Fewest hours that a dry run tells apart."""


def print_estimate(plan: StudyPlan, limits: Limits) -> None:
    """Print what every stage of a plan would take; nothing is run, and every figure is an estimate.

    Raises:
        UserError: A training's setting cannot work.
    """
    trainings = plan_trainings(plan)
    rows = estimate_study(plan, limits.prices, plan.serving.max_concurrent)
    has_prices = not limits.prices.is_free
    columns = ("stage", "episodes", "prompt tokens", "completion tokens", "training tokens", "hours", "cost", "basis")
    table = Table(*columns, title=_title(plan))
    for row in rows:
        table.add_row(*_cells(row, has_prices=has_prices))
    table.add_section()
    table.add_row(*_cells(_sum(rows), has_prices=has_prices))
    console = screen()
    console.print(table)
    asked = sum(row.prompt_tokens + row.completion_tokens for row in rows)
    console.print(f"Endpoints are asked for about {asked:,} tokens, which is what --max-tokens-total counts.")
    if not has_prices:
        console.print('The cost is unknown: give --prices, e.g. \'{"prompt": 0.5, "completion": 3}\'.', markup=False)
    print_trainings(console, trainings)


def _cells(row: StageEstimate, *, has_prices: bool) -> list[str]:
    """Return a row's cells; what a stage has none of is a dash, a cost where no endpoint is asked too."""
    counts = (row.episodes, row.prompt_tokens, row.completion_tokens, row.training_tokens)
    cost = f"{row.cost:.2f}" if has_prices and row.prompt_tokens else "-"
    hours = f"{row.hours:.2f}" if row.hours >= SHOWN_HOURS else f"<{SHOWN_HOURS}"
    return [row.stage, *(f"{count:,}" if count else "-" for count in counts), hours, cost, row.basis]


def _sum(rows: list[StageEstimate]) -> StageEstimate:
    return StageEstimate(
        stage="all",
        basis="sum, as if one after the other",
        hours=sum(row.hours for row in rows),
        episodes=sum(row.episodes for row in rows),
        prompt_tokens=sum(row.prompt_tokens for row in rows),
        completion_tokens=sum(row.completion_tokens for row in rows),
        training_tokens=sum(row.training_tokens for row in rows),
        cost=sum(row.cost for row in rows),
    )


def _title(plan: StudyPlan) -> str:
    paces = [f"{plan.serving.max_concurrent} episodes of the models at a time"]
    endpoints = [part.teacher.endpoint for part in plan.parts if part.teacher.endpoint is not None]
    paces += list(dict.fromkeys(f"{endpoint.concurrency} of the teacher" for endpoint in endpoints))
    return f"{plan.name} (plan {plan.digest}): estimates, nothing was run; {', '.join(paces)}"


def print_study(plan: StudyPlan) -> None:
    """Print a finished plan on one screen: its 2x2, the sentence that it supports, and where the rest is."""
    places = name_places()
    typer.echo(f"\n{plan.name}: {plan.label} (plan {plan.digest})")
    with Warehouse.open(places.warehouse) as warehouse:

        def query(name: str, plan_digest: str) -> pl.DataFrame:
            return read_table(warehouse, table_query(name), plan_digest)

        typer.echo(study_summary(query, plan_digest=plan.digest), nl=False)
        ((failed_count,),) = warehouse.sql(command_sql("failed_count"), plan_digest=plan.digest).rows()
    if failed_count:
        again = count_failed_episodes(LandingZone(places.landing), plan)
        left_out = f"{failed_count} episodes ended with `error` and are left out"
        typer.echo(f"{left_out}; the next start plays {again or 'none'} of them again")
    own = Path(sys.executable).with_name("carryover")
    if own.exists() and shutil.which("carryover") is None:
        typer.echo(f"`carryover` is {os.path.relpath(own)}")
    typer.echo(f"warehouse: {places.warehouse}")
