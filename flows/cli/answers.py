"""What a study's command prints: the estimate of a dry run, and the tables of a finished plan."""

from importlib import resources

from rich.console import Console
from rich.table import Table

from flows.cli.tables import print_tables
from storage.runs import landing_zone
from storage.warehouse import Warehouse
from tasks.plans.estimate import estimate_study
from tasks.plans.run import Limits
from tasks.plans.spec import StudyPlan
from tasks.running.places import open_places

console = Console(highlight=False)


def print_estimate(plan: StudyPlan, limits: Limits) -> None:
    """Print what every stage of a plan would take; nothing is run, and every figure is an estimate."""
    rows = estimate_study(plan, limits.prices, plan.serving.max_concurrent)
    table = Table(
        "stage", "episodes", "prompt tokens", "completion tokens", "hours", "cost", "basis", title=_title(plan)
    )
    for row in rows:
        table.add_row(
            row.stage,
            f"{row.episodes:,}",
            f"{row.prompt_tokens:,}",
            f"{row.completion_tokens:,}",
            f"{row.hours:.2f}",
            f"{row.cost:.2f}",
            row.basis,
        )
    table.add_section()
    table.add_row(
        "all",
        f"{sum(row.episodes for row in rows):,}",
        f"{sum(row.prompt_tokens for row in rows):,}",
        f"{sum(row.completion_tokens for row in rows):,}",
        f"{sum(row.hours for row in rows):.2f}",
        f"{sum(row.cost for row in rows):.2f}",
        "sum",
    )
    console.print(table)


def _title(plan: StudyPlan) -> str:
    return f"{plan.name} (plan {plan.digest}): estimates, nothing was run; {plan.serving.max_concurrent} episodes at a time"


def print_study(plan: StudyPlan) -> None:
    """Print a finished plan's tables, the picture of the 2x2, where the warehouse is, and queries to try."""
