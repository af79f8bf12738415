"""What a study's command prints: the estimate of a dry run, and the tables of a finished plan."""

import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

from carryover.flows.cli.screen import screen
from carryover.flows.cli.tables import CONTRAST_TABLES, STUDY_TABLES, print_pictures, print_tables
from carryover.storage.study.finished import count_failed_episodes
from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.plans.estimate import StageEstimate, estimate_study
from carryover.tasks.plans.run import Limits
from carryover.tasks.plans.spec import EvaluationSpec, StudyPlan
from carryover.tasks.running.folders import name_places
from carryover.tasks.sft.load import choose_attention
from carryover.tasks.sft.resources import GIB, GPU_GIB, hours_on

SHOWN_HOURS = 0.01
"""Fewest hours that a dry run tells apart."""
GPU_COUNTS = (1, 2, 8)
UNKNOWN_SHAPE = "Base model of unknown size: no memory is estimated, and training takes as long as Qwen3-8B's."
QUERIES = (
    (
        "which names did persistent-trained models miss under the stateless runtime?",
        "select message, count(*) as n from errors join marts.episode_metrics using (episode_id) "
        "where plan_digest = $plan_digest and is_counted and is_missing_name and train_contract = 'persistent' "
        "and runtime_contract = 'stateless' group by all order by n desc, message limit 10",
    ),
    (
        "how does the prompt grow with the turns of an episode?",
        "select train_contract, runtime_contract, turn, avg(turns.prompt_tokens) as tokens from turns "
        "join marts.episode_metrics using (episode_id) where plan_digest = $plan_digest and is_counted "
        "and train_contract is not null and turn > 0 group by all order by all",
    ),
    (
        "which episodes took the most steps? (the command `episode ID` replays one)",
        "select episode_id, train_contract, runtime_contract, step_count, score from marts.episode_metrics "
        "where plan_digest = $plan_digest and is_counted and train_contract is not null "
        "order by step_count desc, episode_id limit 5",
    ),
)
"""Questions and their SQL about a plan's counted episodes, for whoever opens the warehouse for the first time."""


WHY_BASE = {"laptop": ", for which the goals of tasks/plans/hypotheses.toml hold best (README.md has the numbers)"}
"""Why a plan trains from its base."""


def print_estimate(plan: StudyPlan, limits: Limits) -> None:
    """Print what every stage of a plan would take; nothing is run, and every figure is an estimate.

    Raises:
        UserError: A training's setting cannot work.
    """
    rows = estimate_study(plan, limits.prices, plan.serving.max_concurrent)
    has_prices = not limits.prices.is_free
    title = f"{plan.name} (plan {plan.digest}): estimates, nothing was run"
    table = Table(
        "stage", "episodes", "prompt", "completion", "trained on", "steps", "GiB", "hours", "cost", title=title
    )
    for row in rows:
        table.add_row(*_cells(row, has_prices=has_prices))
    table.add_section()
    sums = [sum(row[place] for row in rows) for place in range(2, 8)]  # pyright: ignore[reportArgumentType]
    table.add_row(*_cells(StageEstimate("all, one after the other", "", *sums), has_prices=has_prices))
    console = screen()
    console.print(table)
    for line in _notes(plan, rows, has_prices=has_prices):
        console.print(line, markup=False, soft_wrap=True)


def _notes(plan: StudyPlan, rows: list[StageEstimate], *, has_prices: bool) -> Iterator[str]:
    """Yield what a table of estimates rests on and what would change it."""
    yield f"Estimated from {'; '.join(dict.fromkeys(row.basis for row in rows))}."
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
        kernels = dict.fromkeys(choose_attention(part.training, has_gpu=True) for part in plan.parts)
        yield f"Attention on a GPU, installed as here: {', '.join(kernels)}."


def _cells(row: StageEstimate, *, has_prices: bool) -> list[str]:
    """Return a row's cells; what a stage has none of is a dash, a cost where no endpoint is asked too."""
    counts = (row.episodes, row.prompt_tokens, row.completion_tokens, row.training_tokens, row.steps)
    memory = f"{row.memory_bytes / GIB:.1f}" if row.memory_bytes else "-"
    cost = f"{row.cost:.2f}" if has_prices and row.prompt_tokens else "-"
    hours = f"{row.hours:.2f}" if row.hours >= SHOWN_HOURS else f"<{SHOWN_HOURS}"
    return [row.stage, *(f"{count:,}" if count else "-" for count in counts), memory, hours, cost]


def print_study(plan: StudyPlan) -> None:
    """Print a finished plan's tables, the picture of the 2x2, where the warehouse is, and queries to try."""
    console = screen()
    places = name_places()
    with Warehouse.open(places.warehouse) as warehouse:
        console.print(f"\n{plan.name}: {plan.label} (plan {plan.digest})", style="bold")
        console.print(name_bases(plan), markup=False)
        console.print(f"{name_ends(plan)} {name_pace(plan)}", markup=False)
        print_tables(warehouse, plan.digest, (*STUDY_TABLES, *CONTRAST_TABLES), "rich")
        print_pictures(warehouse, plan.digest)
        _print_failed(console, warehouse, plan)
    console.print(f"\nThe warehouse is {places.warehouse}. Three questions to start with:")
    for question, command in name_queries(plan.digest):
        console.print(f"  # {question}\n  {command}", soft_wrap=True, markup=False)


def name_bases(plan: StudyPlan) -> str:
    """Return which bases a plan's models were trained from, and where a plan says so, why from these."""
    bases = ", ".join(dict.fromkeys(part.base for part in plan.parts))
    return f"Base {bases}{WHY_BASE.get(plan.name, '')}; Tables 1 and 5 are of the teachers' traces, which have no base."


def name_ends(plan: StudyPlan) -> str:
    """Return after how many turns the episodes of a plan's models end, finished or not."""
    evaluations = [evaluation for part in plan.parts for evaluation in part.evaluations]
    trained = _say_ends(one for one in evaluations if one.has_trained_rows)
    untrained = _say_ends(one for one in evaluations if one.has_base_rows)
    if plan.scale == "smoke":
        return f"Episodes of models end after {trained}, so that none need be finished."
    if trained == untrained or not untrained:
        return f"Episodes of models end after {trained}."
    return f"Episodes of trained models end after {trained}, those of an untrained base after {untrained}."


def name_pace(plan: StudyPlan) -> str:
    """Return how many episodes of a plan's models ran at a time, which their seconds are longer by."""
    return f"Up to {plan.serving.max_concurrent} of them ran at a time, which lengthens each one's seconds."


def _say_ends(evaluations: Iterable[EvaluationSpec]) -> str:
    limits = {(one.episode.max_turns, one.episode.max_completion_tokens) for one in evaluations}
    return " or ".join(f"{turns:,} turns of {tokens:,} tokens" for turns, tokens in sorted(limits))


def name_queries(plan_digest: str) -> list[tuple[str, str]]:
    """Return every question to start with and the shell command that answers it from the working directory."""
    home = name_places().home
    own = shlex.quote(_find_command())
    place = "" if home == Path.cwd() / "data" else f" --home {shlex.quote(str(home))}"
    queries = ((question, query.replace("$plan_digest", f"'{plan_digest}'")) for question, query in QUERIES)
    return [(question, f'{own} query{place} "{query}"') for question, query in queries]


def _find_command() -> str:
    """Return how `carryover` is called here: by its name where that finds this interpreter's own, else by its path."""
    own = Path(sys.executable).with_name("carryover")
    found = shutil.which("carryover")
    if not own.exists() or (found is not None and Path(found).samefile(own)):
        return "carryover"
    return str(own.relative_to(Path.cwd()) if own.is_relative_to(Path.cwd()) else own)


def _print_failed(console: Console, warehouse: Warehouse, plan: StudyPlan) -> None:
    """Say how many episodes are left out of the tables as their last attempt ended with `error`, and what follows."""
    ((count,),) = warehouse.sql(
        "select count(*) from marts.episode_metrics "
        "where plan_digest = $plan_digest and is_last_attempt and finish_reason = 'error'",
        plan_digest=plan.digest,
    ).rows()
    if count:
        again = count_failed_episodes(LandingZone(name_places().landing), plan)
        played = "them" if again == count else f"{again or 'none'} of them"
        console.print(f"{count} episodes ended with `error` and are left out; the next start plays {played} again.")
