"""What a study will take, before any of it runs: episodes, tokens, hours and cost per stage, all estimates."""

import csv
from collections.abc import Iterable
from importlib import resources
from typing import NamedTuple

from carryover.tasks.agent.client import ScriptedClientSpec
from carryover.tasks.plans.machine_stages import StageEstimate, analysis_row, instance_row, preparation_row
from carryover.tasks.plans.models import scripted_conditions
from carryover.tasks.plans.spec import EvaluationSpec, OwnBaseSpec, Scale, StudyPart, StudyPlan
from carryover.tasks.running.limits import Prices, Spent
from carryover.tasks.sft.dry_run import training_hours
from carryover.tasks.sft.example_lengths import ExpectedExamples, LengthRange, likely_lengths
from carryover.tasks.sft.hub import expanded
from carryover.tasks.sft.model_shape import shape_of
from carryover.tasks.sft.prepare import held_out_count
from carryover.tasks.sft.spec import TrainingSpec

PROMPT_SHARE = 0.95
"""Share of prompt tokens in a total, where only totals are published; ours, from scripted episodes."""


class EpisodeMean(NamedTuple):
    """Mean cost of one episode."""

    prompt_tokens: float
    completion_tokens: float
    seconds: float
    """Wall time of an episode that has the endpoint, or a core of the machine, to itself."""
    largest_speedup: float = float("inf")
    """How many episodes at a time still go on at full speed: any number before an endpoint, two on two cores."""


LAPTOP_MEANS: dict[tuple[str | None, str], EpisodeMean] = {
    # Tokens and seconds of a laptop run on two cores; (train contract, runtime contract), None for the untrained base.
    ("persistent", "persistent"): EpisodeMean(3_840, 410, 0.2, 2),
    ("persistent", "stateless"): EpisodeMean(10_500, 1_250, 0.5, 2),
    ("stateless", "stateless"): EpisodeMean(8_500, 1_050, 0.4, 2),
    ("stateless", "persistent"): EpisodeMean(8_500, 1_050, 0.4, 2),
    (None, "persistent"): EpisodeMean(1_700, 600, 0.3, 2),  # two turns of noise
    (None, "stateless"): EpisodeMean(1_700, 600, 0.3, 2),
}
SCRIPTED_MEAN = EpisodeMean(0, 0, 0.1, 2)
"""A scripted episode on one core."""
SCRIPTED_BASIS = "estimate: scripted, no endpoint is asked"
SCRIPTED_CONCURRENCY = ScriptedClientSpec().concurrency
PUBLISHED_TOKENS_PER_SECOND = 8_200
"""Of Qwen3-8B in NF4 on one H100, published for Unsloth; it stands in for a base whose shape is not known here."""
LAPTOP_LENGTHS: dict[str, LengthRange] = {
    # Tokens of the scripted teachers' traces in a laptop run, chat template included.
    "persistent": LengthRange(469, 1_049, 2_240),
    "stateless": LengthRange(889, 2_181, 4_389),
}
PLAIN_LENGTHS = LengthRange(84, 263, 757)
"""Tokens of the conversations of the `plain` corpus, by the tokenizer of a laptop run."""
LAPTOP_LENGTHS_BASIS = "the range and mean of an earlier laptop run"


def estimate_study(plan: StudyPlan, prices: Prices, concurrency: int) -> list[StageEstimate]:
    """Return one estimate per stage and arm of a plan, in order of execution but for the parts that stand together.

    What parts share, the traces of a variant, the base of a variant and the models of a variant, base and seed, has one
    row, under the name of the first of them.

    Args:
        plan: The resolved plan.
        prices: Prices per million tokens, of teacher and evaluation endpoints alike.
        concurrency: Episodes of the models at a time; they are taken to share nothing. A teacher's endpoint has a
            number of its own.
    """
    rows = [instance_row(instances) for instances in plan.instance_sets()]
    shared: set[tuple[object, ...]] = set()
    for part in plan.parts:
        title = f"{part.name}, " if len(plan.parts) > 1 else ""
        traces = ("traces", part.variant)
        if traces not in shared:
            rows += _teacher_rows(part, title, prices)
            rows.append(preparation_row(f"{title}{part.variant}: preparation", _trace_tokens(plan.scale, part)))
        base = ("base", part.variant, part.base)
        if part.own_base is not None and base not in shared:
            examples = base_examples(plan.scale, part, part.own_base)
            stage = f"{title}{part.variant}: training, {part.base} base"
            rows.append(_training_row(stage, part.own_base.training, examples))
        seeds = [seed for seed in part.training_seeds if ("model", part.variant, part.base, seed) not in shared]
        if seeds:
            for contract in part.teacher.contracts:
                examples = arm_examples(plan.scale, part, contract)
                stage = f"{title}{part.variant}: training, {contract}"
                rows.append(_training_row(stage, part.training, examples, part.own_base, len(seeds)))
        shared |= {traces, base, *(("model", part.variant, part.base, seed) for seed in seeds)}
        rows += _evaluation_rows(plan, part, title, prices, concurrency)
    return [*rows, analysis_row(plan, rows)]


def arm_examples(scale: Scale, part: StudyPart, contract: str) -> ExpectedExamples:
    """Return the examples that an arm's dataset keeps, as long as Table 5's (section C.1) or a laptop run's."""
    ranges = {arm: _published_lengths(arm) for arm in LAPTOP_LENGTHS} if scale == "paper" else LAPTOP_LENGTHS
    count = min(part.dataset.maximum_kept, part.train_instances.count)
    if part.dataset.matching == "tokens":  # the arm with the longer examples keeps fewer of them
        count = max(1, round(count * min(known.mean for known in ranges.values()) / ranges[contract].mean))
    basis = "Table 5's range and mean" if scale == "paper" else LAPTOP_LENGTHS_BASIS
    return ExpectedExamples(likely_lengths(ranges[contract], count), basis)


def base_examples(scale: Scale, part: StudyPart, own_base: OwnBaseSpec) -> ExpectedExamples:
    """Return the examples that a base of the study's own is trained on: plain ones, or those of every arm."""
    if own_base.instances is not None:
        return ExpectedExamples(likely_lengths(PLAIN_LENGTHS, own_base.instances.count), LAPTOP_LENGTHS_BASIS)
    arms = [arm_examples(scale, part, contract) for contract in part.teacher.contracts]
    return ExpectedExamples(tuple(length for arm in arms for length in arm.lengths), arms[0].source)


def _trace_tokens(scale: Scale, part: StudyPart) -> float:
    """Return the tokens of a part's teacher traces, of every contract, kept or not."""
    arms = [arm_examples(scale, part, contract) for contract in part.teacher.contracts]
    return part.train_instances.count * sum(arm.mean_tokens for arm in arms)


def _published_lengths(contract: str) -> LengthRange:
    smallest, mean, largest = (
        float(_published("table5", metric=f"{name}_tokens")[contract]) for name in ("min", "mean", "max")
    )
    return LengthRange(round(smallest), mean, round(largest))


def _teacher_rows(part: StudyPart, title: str, prices: Prices) -> Iterable[StageEstimate]:
    concurrency = SCRIPTED_CONCURRENCY if part.teacher.endpoint is None else part.teacher.endpoint.concurrency
    for contract in part.teacher.contracts:
        mean, basis = _teacher_mean(part, contract)
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
        for train_contract, runtime_contract in cells(evaluation):
            mean, basis = _evaluation_mean(plan.scale, evaluation, train_contract, runtime_contract)
            played = count * (len(part.training_seeds) if train_contract else 1)
            stage = f"{title}{variant}: {train_contract or 'base'} -> {runtime_contract}, {bucket}{shown}"
            yield _row(stage, played, mean, basis, prices=billed, concurrency=concurrency)
        for condition in scripted_conditions(part, evaluation):
            stage = f"{title}{condition.variant}: scripted -> {condition.runtime_contract}, {bucket}"
            yield _row(stage, count, SCRIPTED_MEAN, SCRIPTED_BASIS, prices=billed, concurrency=SCRIPTED_CONCURRENCY)


def cells(evaluation: EvaluationSpec) -> list[tuple[str | None, str]]:
    """Return the cells of an evaluation as (train contract, runtime contract); none for the base."""
    trained: tuple[str | None, ...] = ("persistent", "stateless") if evaluation.has_trained_rows else ()
    with_base = (*trained, None) if evaluation.has_base_rows else trained
    return [(train, runtime) for train in with_base for runtime in ("persistent", "stateless")]


def _row(stage: str, count: int, mean: EpisodeMean, basis: str, *, prices: Prices, concurrency: int) -> StageEstimate:
    prompt, completion = round(count * mean.prompt_tokens), round(count * mean.completion_tokens)
    return StageEstimate(
        stage=stage,
        episodes=count,
        prompt_tokens=prompt,
        completion_tokens=completion,
        hours=count * mean.seconds / min(max(1, concurrency), mean.largest_speedup) / 3600,
        cost=prices.cost(Spent(prompt, 0, completion)),
        basis=basis,
    )


def _training_row(
    stage: str,
    training: TrainingSpec,
    examples: ExpectedExamples,
    own_base: OwnBaseSpec | None = None,
    seed_count: int = 1,
) -> StageEstimate:
    count = len(examples.lengths)
    trained = count - held_out_count(count, training.validation_share)
    tokens = examples.mean_tokens * trained * training.epochs * seed_count
    shape = shape_of(own_base.training if own_base else training, expanded(training.base_model or ""))
    known = training_hours(training, shape, tokens)
    hours, device = min((hours, device) for device, hours in (known or _as_published(tokens)).items())
    return StageEstimate(
        stage=stage,
        training_tokens=round(tokens),
        hours=hours,
        basis=f"estimate: {trained:,} examples of {examples.source}, {device}",
    )


def _as_published(tokens: float) -> dict[str, float]:
    return {"one H100 as for Qwen3-8B": tokens / PUBLISHED_TOKENS_PER_SECOND / 3600}


def _teacher_mean(part: StudyPart, contract: str) -> tuple[EpisodeMean, str]:
    if part.teacher.kind == "scripted":
        return SCRIPTED_MEAN, SCRIPTED_BASIS
    total = float(_published("table1", metric="avg_total_tokens_per_episode")[contract])
    seconds = float(_evaluation_row("easy", contract, contract)["mean_time_s"])
    return _split(total, seconds), "estimate: Table 1's tokens, Table 2's time"


def _evaluation_mean(
    scale: Scale, evaluation: EvaluationSpec, train_contract: str | None, runtime_contract: str
) -> tuple[EpisodeMean, str]:
    if scale != "paper":
        return LAPTOP_MEANS[train_contract, runtime_contract], "estimate: means of an earlier laptop run"
    row = _evaluation_row(evaluation.instances.bucket, train_contract or "", runtime_contract)
    return _split(float(row["mean_total_tokens"]), float(row["mean_time_s"])), "estimate: Table 2's tokens and time"


def _split(total: float, seconds: float) -> EpisodeMean:
    return EpisodeMean(total * PROMPT_SHARE, total * (1 - PROMPT_SHARE), seconds)


def _evaluation_row(bucket: str, train_contract: str, runtime_contract: str) -> dict[str, str]:
    return _published("table2", split=bucket, train_semantics=train_contract, runtime_semantics=runtime_contract)


def _published(table: str, **where: str) -> dict[str, str]:
    text = (resources.files("carryover.sql") / "published" / f"{table}.csv").read_text(encoding="utf-8")
    for row in csv.DictReader(text.splitlines()):
        if all(row[name] == value for name, value in where.items()):
            return row
    raise LookupError(f"published {table} has no row with {where}")
