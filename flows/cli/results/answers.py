"""Output of a study's command: a dry run's estimate, a plan's summary."""

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

import polars as pl
import typer

from carryover.flows.cli.results.tables import read_table
from carryover.flows.cli.screen import screen
from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.analysis.queries import command_sql, table_query
from carryover.tasks.analysis.rendering import render_table
from carryover.tasks.analysis.summary import study_summary
from carryover.tasks.plans.estimate import GPU_COUNTS, StageEstimate, estimate_study
from carryover.tasks.plans.run import Limits
from carryover.tasks.plans.study_plan import StudyPlan
from carryover.tasks.services.folders import name_folders
from carryover.tasks.sft.load import choose_attention
from carryover.tasks.sft.resources import GIB, GPU_GIB, can_share, check_shares, hours_on
from carryover.tasks.stages.finished import count_failed_episodes
from carryover.tasks.traces.vocabulary import PAPER_CONTRACTS, PAPER_FAMILY

COLUMNS = ("stage", "episodes", "prompt", "completion", "trained on", "steps", "GiB", "hours", "cost")
UNKNOWN_SHAPE = "Base model of unknown size: memory is not estimated, and the hours of training are those of Qwen3-8B."


def print_estimate(plan: StudyPlan, limits: Limits) -> None:
    """Print an estimate of every stage without running one.

    Raise `UserError` for a setting that cannot work.
    """
    for spec in plan.trainings:
        check_shares(spec, limits.gpus_per_training if spec.is_for_gpu else 1)
    rows = estimate_study(plan, limits.prices, plan.serving.max_concurrent)
    sums = [sum(row[place] for row in rows) for place in range(2, 8)]  # pyright: ignore[reportCallIssue]
    lines = [_cells(row) for row in [*rows, StageEstimate("all, one after the other", "", *sums)]]
    cells = pl.DataFrame(lines, COLUMNS, orient="row").drop(["cost"] if limits.prices.is_free else [])
    title = f"{plan.name} (plan {plan.digest}): estimates, nothing was run"
    console = screen()
    console.print(render_table("estimates", cells, "rich", title=title, layout="plain", width=console.width), end="")
    console.print("\n".join(_notes(plan, rows, limits)), markup=False, soft_wrap=True)


def _cells(row: StageEstimate) -> list[str]:
    """Return a row's cells, with dashes for absent values."""
    counts = (row.episodes, row.prompt_tokens, row.completion_tokens, row.training_tokens, row.steps)
    memory = "-"
    if row.memory_bytes:
        memory = f"{row.memory_bytes[0] / GIB:.1f}"
    hours = "<0.01"
    if row.hours >= 0.01:
        hours = f"{row.hours:.2f}"
    cost = "-"
    if row.prompt_tokens:
        cost = f"{row.cost:.2f}"
    return [row.stage, *(f"{count:,}" if count else "-" for count in counts), memory, hours, cost]


def _notes(plan: StudyPlan, rows: list[StageEstimate], limits: Limits) -> Iterator[str]:
    """Yield the assumptions behind a table of estimates."""
    bases = dict.fromkeys(row.basis for row in rows)
    yield f"Estimated from {'; '.join(bases)}."
    yield from _unmeasured(plan)
    yield f"Hours are at {', '.join(_paces(plan))}."
    asked = sum(row.prompt_tokens + row.completion_tokens for row in rows)
    yield f"Models are asked for about {asked:,} tokens, which is what --max-tokens-total counts."
    if not _asks_endpoints(plan):
        yield "No endpoint is asked: nothing is billed."
    elif limits.prices.is_free:
        yield 'The cost is unknown: give --prices, e.g. \'{"prompt": 0.5, "completion": 3}\'.'
    if any(row.training_tokens and not row.memory_bytes for row in rows):
        yield UNKNOWN_SHAPE
    yield from _gpu_notes(plan, [row for row in rows if row.trainings])


def _unmeasured(plan: StudyPlan) -> Iterator[str]:
    """Yield a note per assumption that no measurement supports."""
    contracts = dict.fromkeys(chain.from_iterable(part.contract_names() for part in plan.parts))
    unmeasured = [name for name in contracts if name not in PAPER_CONTRACTS]
    if unmeasured:
        names = ", ".join(unmeasured)
        counted = "each counts as persistent where it keeps all names, else as stateless"
        yield f"Nobody has measured {names} at this scale: {counted}."
    families = {part.train_instances.family for part in plan.parts} - {PAPER_FAMILY}
    if families:
        yield f"Nobody has measured {', '.join(sorted(families))} at this scale: tokens and hours are the knapsack's."


def _asks_endpoints(plan: StudyPlan) -> bool:
    """Tell whether others serve a model of the plan, and may bill it."""
    if plan.serving.engine == "external":
        return True
    return any(part.teacher.kind == "endpoint" for part in plan.parts)


def _paces(plan: StudyPlan) -> list[str]:
    """Return how many episodes are played at a time, by whom."""
    paces = [f"{plan.serving.max_concurrent} episodes of the models at a time"]
    for part in plan.parts:
        if part.teacher.endpoint is not None:
            paces.append(f"{part.teacher.endpoint.concurrency} of the teacher")
    return list(dict.fromkeys(paces))


def _gpu_notes(plan: StudyPlan, on_gpu: list[StageEstimate]) -> Iterator[str]:
    """Yield memory and hours of trainings on GPUs, if any."""
    memories = [row.memory_bytes for row in on_gpu if row.memory_bytes]
    sizes = [max(of_rows) / GIB for of_rows in zip(*memories, strict=True)]
    if sizes and sizes[0] > GPU_GIB:
        yield f"Warning: a training takes more than the {GPU_GIB} GiB of the paper's GPU; lower batch.max_length."
    if on_gpu:
        yield from _hours_notes(plan, list(chain.from_iterable(row.trainings for row in on_gpu)), sizes)
        kernels = dict.fromkeys(choose_attention(part.training, has_gpu=True) for part in plan.parts)
        yield f"Attention on a GPU, installed as here: {', '.join(kernels)}."


def _hours_notes(plan: StudyPlan, hours: Sequence[float], sizes: Sequence[float]) -> Iterator[str]:
    """Yield hours of trainings side by side, and over several GPUs each."""
    beside = ", ".join(f"{hours_on(hours, count):.1f} on {count}" for count in GPU_COUNTS)
    yield f"Training hours on H100 GPUs, one training on each: {beside}."
    known = dict(zip(GPU_COUNTS, sizes, strict=False))
    for count in _shared_counts(plan):
        if count in known:
            shared = f"{sum(hours) / count:.1f} hours at best, {known[count]:.1f} GiB on each"
            yield f"Each training over {count} GPUs (--gpus-per-training {count}): {shared}."


def _shared_counts(plan: StudyPlan) -> list[int]:
    """Return numbers of GPUs that each training of a plan for GPUs can be split over."""
    trained = [spec for spec in plan.trainings if spec.is_for_gpu]
    return [count for count in GPU_COUNTS[1:] if all(can_share(spec, count) for spec in trained)]


def print_study(plan: StudyPlan) -> None:
    """Print a finished plan on one screen, and where the rest is."""
    folders = name_folders()
    console = screen()
    console.print(f"\n{plan.title} (plan {plan.digest})", markup=False)
    if plan.scale == "smoke":
        replies = min(evaluation.episode.max_turns for part in plan.parts for evaluation in part.evaluations)
        console.print(f"smoke ends every episode after {replies} replies, so few finish or score", markup=False)
    with Warehouse.open(folders.warehouse) as warehouse:
        summary = study_summary(lambda name: read_table(warehouse, table_query(name), plan.digest), console.width)
        typer.echo(summary, nl=False)
        ((failed_count,),) = warehouse.sql(command_sql("failed_count"), plan_digest=plan.digest).rows()
    if failed_count:
        again = count_failed_episodes(LandingZone(folders.landing), plan)
        left_out = f"{failed_count} episodes ended with `error` and are left out"
        console.print(f"{left_out}; the next start plays {again or 'none'} of them again", markup=False)
    own = Path(sys.executable).with_name("carryover")
    if own.exists() and shutil.which("carryover") is None:
        typer.echo(f"`carryover` is {os.path.relpath(own)}")
    typer.echo(f"warehouse: {folders.warehouse}")
