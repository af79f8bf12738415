"""Estimate of a study before it runs: episodes, tokens, cost, steps, memory and hours per stage."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import polars as pl

from carryover.tasks.agent.client import ScriptedClientSpec
from carryover.tasks.analysis.published_tables import published_table
from carryover.tasks.plans.models import scripted_conditions
from carryover.tasks.plans.spec import EvaluationSpec, OwnBaseSpec, Scale, StudyPart, StudyPlan
from carryover.tasks.running.contract_name import ContractName
from carryover.tasks.running.hub import expanded
from carryover.tasks.running.limits import Prices, Spent
from carryover.tasks.sft.model_shape import KNOWN_SHAPES, shape_of
from carryover.tasks.sft.prepare import held_out_count
from carryover.tasks.sft.resources import estimate_resources, step_count, training_hours
from carryover.tasks.sft.spec import TrainingSpec

PROMPT_SHARE = 0.95
"""Share of prompt tokens in a total, where only totals are published; ours, from scripted episodes."""
LAPTOP = "means of an earlier laptop run"


class EpisodeMean(NamedTuple):
    """Mean cost of one episode."""

    prompt_tokens: float
    completion_tokens: float
    seconds: float
    """Wall time of an episode that has the endpoint, or a core of the machine, to itself."""
    largest_speedup: float = float("inf")
    """Concurrent episodes that still run at full speed: any number before an endpoint, two on two cores."""


LAPTOP_MEANS: dict[tuple[str | None, str], EpisodeMean] = {
    # (train contract, runtime contract), None for the untrained base, which writes two turns of noise
    ("persistent", "persistent"): EpisodeMean(3_840, 410, 0.2, 2),
    ("persistent", "stateless"): EpisodeMean(10_500, 1_250, 0.5, 2),
    ("stateless", "stateless"): EpisodeMean(8_500, 1_050, 0.4, 2),
    ("stateless", "persistent"): EpisodeMean(8_500, 1_050, 0.4, 2),
    (None, "persistent"): EpisodeMean(1_700, 600, 0.3, 2),
    (None, "stateless"): EpisodeMean(1_700, 600, 0.3, 2),
}
SCRIPTED_MEAN = EpisodeMean(0, 0, 0.1, 2)
LAPTOP_TOKENS = {"persistent": 1_049, "stateless": 2_181}
"""Mean tokens of the scripted teachers' traces in a laptop run, chat template included."""
PLAIN_TOKENS = 263
"""Mean tokens of the conversations of the `plain` corpus, by the tokenizer of a laptop run."""


class StageEstimate(NamedTuple):
    """A row of the dry run."""

    stage: str
    basis: str
    """Where the figures come from."""
    hours: float
    """On one GPU, or one core where the model needs none."""
    episodes: int = 0
    """Episodes played; 0 for a training."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    """Tokens of an endpoint, as `max_tokens_total` counts them."""
    cost: float = 0.0
    """At the given prices; 0 if the study serves the model itself."""
    training_tokens: int = 0
    """Tokens trained on, all passes and seeds; no endpoint is asked for them."""
    steps: int = 0
    """Optimizer steps of each training."""
    memory_bytes: int | None = None
    """On each GPU of each training; None if the size of the base is unknown."""
    trainings: tuple[float, ...] = ()
    """Hours of each training on a GPU, which can run side by side; empty on a CPU."""


def estimate_study(plan: StudyPlan, prices: Prices, concurrency: int) -> list[StageEstimate]:
    """Return one estimate per stage and arm of a plan; generating, preparing and analysing take seconds to minutes.

    What parts share, the traces of a variant, the base of a variant and the models of a variant, base and seed, has one
    row, under the name of the first of them. `concurrency` counts the models' episodes at a time, taken to share
    nothing; a teacher's endpoint has its own. Raise `UserError` for sequences beyond a model's positions.
    """
    rows: list[StageEstimate] = []
    shared: set[tuple[object, ...]] = set()
    for part in plan.parts:
        title = f"{part.name}, " if len(plan.parts) > 1 else ""
        traces, base = ("traces", part.variant), ("base", part.variant, part.base)
        if traces not in shared:
            rows += _teacher_rows(part, title, prices)
        if part.own_base is not None and base not in shared:
            stage = f"{title}{part.variant}: training, {part.base} base"
            examples = base_examples(plan.scale, part, part.own_base)
            rows.append(_training_row(plan.scale, stage, part.own_base.training, examples=examples))
        seeds = [seed for seed in part.training_seeds if ("model", part.variant, part.base, seed) not in shared]
        for contract in part.teacher.contracts if seeds else ():
            stage = f"{title}{part.variant}: training, {contract}"
            arm = {"examples": arm_examples(plan.scale, part, contract), "own_base": part.own_base}
            rows.append(_training_row(plan.scale, stage, part.training, **arm, seed_count=len(seeds)))
        shared |= {traces, base, *(("model", part.variant, part.base, seed) for seed in seeds)}
        rows += _evaluation_rows(plan, part, title, prices, concurrency)
    return rows


def arm_examples(scale: Scale, part: StudyPart, contract: ContractName) -> tuple[int, float]:
    """Return how many examples an arm's dataset keeps, and their mean tokens: Table 5's (section C.1) or a laptop's."""
    means: dict[str, float] = dict(LAPTOP_TOKENS)
    if scale == "paper":
        row = _published("table5", metric="mean_tokens")
        means = {arm: float(row[arm]) for arm in means}
    count, mean = min(part.dataset.maximum_kept, part.train_instances.count), means[known_as(contract)]
    if part.dataset.matching == "tokens":  # the arm with the longer examples keeps fewer of them
        count = max(1, round(count * min(means.values()) / mean))
    return count, mean


def base_examples(scale: Scale, part: StudyPart, own_base: OwnBaseSpec) -> tuple[int, float]:
    """Return count and mean tokens of what a base of the study's own is trained on: plain examples, or every arm's."""
    if own_base.instances is not None:
        return own_base.instances.count, PLAIN_TOKENS
    arms = [arm_examples(scale, part, contract) for contract in part.teacher.contracts]
    total = sum(count for count, _ in arms)
    return total, sum(count * tokens for count, tokens in arms) / total


def _teacher_rows(part: StudyPart, title: str, prices: Prices) -> Iterator[StageEstimate]:
    concurrency = (part.teacher.endpoint or ScriptedClientSpec()).concurrency
    for contract in part.teacher.contracts:
        mean, basis = SCRIPTED_MEAN, LAPTOP
        if part.teacher.kind != "scripted":
            known = known_as(contract)
            total = float(_published("table1", metric="avg_total_tokens_per_episode")[known])
            timed = _published("table2", split="easy", train_semantics=known, runtime_semantics=known)
            mean = _split(total, timed["mean_time_s"])
            basis = "Table 1's tokens, Table 2's time"
        stage = f"{title}{part.variant}: teacher, {contract}"
        yield _row(stage, part.train_instances.count, mean, basis, prices=prices, concurrency=concurrency)


def _evaluation_rows(
    plan: StudyPlan, part: StudyPart, title: str, prices: Prices, concurrency: int
) -> Iterable[StageEstimate]:
    billed = prices if plan.is_billed("evaluation") else Prices()
    for evaluation in part.evaluations:
        variant, bucket = evaluation.variant or part.variant, evaluation.instances.bucket
        count = evaluation.instances.count * evaluation.replicates
        shown = ", shown as trained" if evaluation.visibility == "as_trained" else ""
        for train_contract, runtime_contract in cells(part, evaluation):
            known_train, known_runtime = train_contract and known_as(train_contract), known_as(runtime_contract)
            mean, basis = LAPTOP_MEANS[known_train, known_runtime], LAPTOP
            if plan.scale == "paper":
                where = {"train_semantics": known_train, "runtime_semantics": known_runtime}
                published = _published("table2", split=bucket, **where)
                mean = _split(float(published["mean_total_tokens"]), published["mean_time_s"])
                basis = "Table 2's tokens and time"
            played = count * (len(part.training_seeds) if train_contract else 1)
            stage = f"{title}{variant}: {train_contract or 'base'} -> {runtime_contract}, {bucket}{shown}"
            yield _row(stage, played, mean, basis, prices=billed, concurrency=concurrency)
        for condition in scripted_conditions(part, evaluation):
            stage = f"{title}{condition.variant}: scripted -> {condition.runtime_contract}, {bucket}"
            workers = ScriptedClientSpec().concurrency
            yield _row(stage, count, SCRIPTED_MEAN, LAPTOP, prices=billed, concurrency=workers)


def cells(part: StudyPart, evaluation: EvaluationSpec) -> list[tuple[ContractName | None, ContractName]]:
    """Return the cells of an evaluation as (train contract, runtime contract); the base's train contract is None."""
    trained: tuple[ContractName | None, ...] = part.teacher.contracts if evaluation.has_trained_rows else ()
    with_base = (*trained, None) if evaluation.has_base_rows else trained
    return [(train, runtime) for train in with_base for runtime in evaluation.runtime_contracts]


def known_as(contract: ContractName) -> ContractName:
    """Return the measured contract that stands in for another: the same without injected objects."""
    return ContractName.PERSISTENT if contract.keeps_names else ContractName.STATELESS


def _row(stage: str, count: int, mean: EpisodeMean, basis: str, *, prices: Prices, concurrency: int) -> StageEstimate:
    prompt, completion = round(count * mean.prompt_tokens), round(count * mean.completion_tokens)
    hours = count * mean.seconds / min(max(1, concurrency), mean.largest_speedup) / 3600
    return StageEstimate(stage, basis, hours, count, prompt, completion, prices.cost(Spent(prompt, 0, completion)))


def _training_row(
    scale: Scale,
    stage: str,
    training: TrainingSpec,
    *,
    examples: tuple[int, float],
    own_base: OwnBaseSpec | None = None,
    seed_count: int = 1,
) -> StageEstimate:
    """Return the trainings of an arm, one per seed; a base of unknown size takes as long as Qwen3-8B."""
    count, mean_tokens = examples
    per_pass = mean_tokens * (count - held_out_count(count, training.validation_share))
    known = shape_of(own_base.training if own_base else training, expanded(training.base_model or ""))
    hours = training_hours(training, known or KNOWN_SHAPES["Qwen/Qwen3-8B"], per_pass * training.epochs, mean_tokens)
    return StageEstimate(
        stage,
        "Table 5's mean tokens" if scale == "paper" else LAPTOP,
        hours * seed_count,
        training_tokens=round(per_pass * training.epochs * seed_count),
        steps=step_count(training, per_pass),
        memory_bytes=estimate_resources(training, known).memory_bytes if known else None,
        trainings=(hours,) * seed_count if training.is_for_gpu else (),
    )


def _split(total: float, seconds: str) -> EpisodeMean:
    return EpisodeMean(total * PROMPT_SHARE, total * (1 - PROMPT_SHARE), float(seconds))


def _published(table: str, **where: str | None) -> dict[str, str]:
    is_asked = (pl.col(name).eq_missing(value) for name, value in where.items())
    return published_table(table, text=True).row(by_predicate=pl.all_horizontal(is_asked), named=True)
