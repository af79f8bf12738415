"""Output of a study's command: the estimate of a dry run, and the summary of a finished plan."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import typer

from carryover.flows.cli.screen import screen
from carryover.flows.cli.tables import read_table
from carryover.storage.study.finished import count_failed_episodes
from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.analysis.queries import command_sql, table_query
from carryover.tasks.analysis.rendering import render_table
from carryover.tasks.analysis.summary import study_summary
from carryover.tasks.plans.estimate import StageEstimate, estimate_study, known_as
from carryover.tasks.plans.run import Limits
from carryover.tasks.plans.spec import StudyPlan
from carryover.tasks.running.folders import name_folders
from carryover.tasks.running.hub import expanded
from carryover.tasks.sft.load import choose_attention
from carryover.tasks.sft.model_shape import shape_of
from carryover.tasks.sft.resources import GIB, GPU_GIB, estimate_resources, hours_on

COLUMNS = ("stage", "episodes", "prompt", "completion", "trained on", "steps", "GiB", "hours", "cost")
SHOWN_HOURS = 0.01
"""Smallest hours shown."""
GPU_COUNTS = (1, 2, 8)
UNKNOWN_SHAPE = "Base model of unknown size: memory is not estimated, and the hours of training are those of Qwen3-8B."


def print_estimate(plan: StudyPlan, limits: Limits) -> None:
    """Print an estimate of every stage of a plan, running none; raise `UserError` for a setting that cannot work."""
    rows = estimate_study(plan, limits.prices, plan.serving.max_concurrent)
    has_prices = not limits.prices.is_free
    sums = [sum(row[place] for row in rows) for place in range(2, 8)]  # pyright: ignore[reportArgumentType]
    rows_and_sum = [*rows, StageEstimate("all, one after the other", "", *sums)]
    cells = pl.DataFrame([_cells(row, has_prices=has_prices) for row in rows_and_sum], COLUMNS, orient="row")
    cells = cells if has_prices else cells.drop("cost")
    title = f"{plan.name} (plan {plan.digest}): estimates, nothing was run"
    console = screen()
    console.print(render_table("estimates", cells, "rich", title=title, layout="plain", width=console.width), end="")
    for line in _notes(plan, rows, has_prices=has_prices):
        console.print(line, markup=False, soft_wrap=True)


def _notes(plan: StudyPlan, rows: list[StageEstimate], *, has_prices: bool) -> Iterator[str]:
    """Yield what a table of estimates rests on and what would change it."""
    yield f"Estimated from {'; '.join(dict.fromkeys(row.basis for row in rows))}."
    if any(known_as(contract) != contract for part in plan.parts for contract in part.teacher.contracts):
        yield "Nobody has measured injected contracts at this scale: each counts as the same without injected objects."
    pace = [f"{plan.serving.max_concurrent} episodes of the models at a time"]
    endpoints = [part.teacher.endpoint for part in plan.parts if part.teacher.endpoint is not None]
    pace += list(dict.fromkeys(f"{endpoint.concurrency} of the teacher" for endpoint in endpoints))
    yield f"Hours are at {', '.join(pace)}."
    asked = sum(row.prompt_tokens + row.completion_tokens for row in rows)
    yield f"Endpoints are asked for about {asked:,} tokens, which is what --max-tokens-total counts."
    if not has_prices:
        yield 'The cost is unknown: give --prices, e.g. \'{"prompt": 0.5, "completion": 3}\'.'
    trained = [row for row in rows if row.training_tokens]
    if any(row.memory_bytes is None for row in trained):
        yield UNKNOWN_SHAPE
    if any((row.memory_bytes or 0) > GPU_GIB * GIB for row in trained if row.trainings):
        yield f"Warning: a training takes more than the {GPU_GIB} GiB of the paper's GPU; lower batch.max_length."
    if hours := [each for row in trained for each in row.trainings]:
        beside = ", ".join(f"{hours_on(hours, count):.1f} on {count}" for count in GPU_COUNTS)
        yield f"Training hours on H100 GPUs, one training on each: {beside}."
        trainings = [part.training for part in plan.parts]
        known = [(each, shape) for each in trainings if (shape := shape_of(each, expanded(each.base_model or "")))]
        for count in GPU_COUNTS[1:] if known else ():
            memory = max(estimate_resources(*each, gpu_count=count).memory_bytes for each in known) / GIB
            shared = f"{sum(hours) / count:.1f} hours at best, {memory:.1f} GiB on each"
            yield f"Each training over {count} GPUs (--gpus-per-training {count}): {shared}."
        kernels = dict.fromkeys(choose_attention(part.training, has_gpu=True) for part in plan.parts)
        yield f"Attention on a GPU, installed as here: {', '.join(kernels)}."


def _cells(row: StageEstimate, *, has_prices: bool) -> list[str]:
    """Return a row's cells; a dash marks a value that does not apply."""
    counts = (row.episodes, row.prompt_tokens, row.completion_tokens, row.training_tokens, row.steps)
    memory = f"{row.memory_bytes / GIB:.1f}" if row.memory_bytes else "-"
    cost = f"{row.cost:.2f}" if has_prices and row.prompt_tokens else "-"
    hours = f"{row.hours:.2f}" if row.hours >= SHOWN_HOURS else f"<{SHOWN_HOURS}"
    return [row.stage, *(f"{count:,}" if count else "-" for count in counts), memory, hours, cost]


def print_study(plan: StudyPlan) -> None:
    """Print a finished plan on one screen: its 2x2, the sentence that it supports, and where the rest is."""
    folders = name_folders()
    typer.echo(f"\n{plan.name}: {plan.label} (plan {plan.digest})")
    with Warehouse.open(folders.warehouse) as warehouse:

        def query(name: str, plan_digest: str) -> pl.DataFrame:
            return read_table(warehouse, table_query(name), plan_digest)

        typer.echo(study_summary(query, plan_digest=plan.digest), nl=False)
        ((failed_count,),) = warehouse.sql(command_sql("failed_count"), plan_digest=plan.digest).rows()
    if failed_count:
        again = count_failed_episodes(LandingZone(folders.landing), plan)
        left_out = f"{failed_count} episodes ended with `error` and are left out"
        typer.echo(f"{left_out}; the next start plays {again or 'none'} of them again")
    own = Path(sys.executable).with_name("carryover")
    if own.exists() and shutil.which("carryover") is None:
        typer.echo(f"`carryover` is {os.path.relpath(own)}")
    typer.echo(f"warehouse: {folders.warehouse}")
