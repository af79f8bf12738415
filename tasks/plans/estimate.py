"""Estimate of a study: episodes, tokens, cost, memory and hours."""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import polars as pl

from carryover.tasks.agent.condition import Condition
from carryover.tasks.agent.episode_spec import PromptSet
from carryover.tasks.analysis.published_tables import published_table
from carryover.tasks.plans.models import cells, script_conditions
from carryover.tasks.plans.study_plan import EvaluationSpec, OwnBaseSpec, StudyPart, StudyPlan
from carryover.tasks.reinforcement.reinforcement_spec import ReinforcementSpec
from carryover.tasks.runtime.lifetime import lifetime_of
from carryover.tasks.services.hub import expanded
from carryover.tasks.services.limits import Prices, Spent
from carryover.tasks.sft.model_shape import KNOWN_SHAPES, ModelShape, shape_of
from carryover.tasks.sft.prepare import held_out_count
from carryover.tasks.sft.resources import PEAK_FLOPS, core_flops, estimate_resources, training_flops
from carryover.tasks.sft.training_spec import TrainingSpec
from carryover.tasks.traces.vocabulary import PAPER_CONTRACTS, Scale

LAPTOP = "means of an earlier laptop run"
LAPTOP_CORES = 2
GPU_COUNTS = (1, 2, 8)
PROMPT_SHARE = 0.95
"""Share of prompt tokens in a total, where only totals are published; ours, from scripted episodes."""
PACKED_SHARE = 0.92
"""Share of a sequence that best-fit packing fills with traces as long as Table 5's."""
UTILISATION = 0.32
"""Share of a GPU's peak that training reaches on the operations counted here, recomputed ones included.

Measured on an H200, whose peak an H100 has too: 6,300 tokens/s (tests/benchmarks/training/test_paper_training.py).
"""
P, S = PAPER_CONTRACTS
TRACE_TOKENS = {P: 1_049, S: 2_181}
PLAIN_TOKENS = 263
"""Mean tokens of the scripted teachers' traces and of the `plain` corpus in a laptop run, chat template included."""
Cell = tuple[str | None, str]
"""Train contract and runtime contract; None for the base."""


SCRIPTED = "the scripted teachers' tokens with SmolLM2's tokenizer"


class ScriptedCost(NamedTuple):
    """Mean tokens of a scripted episode, as a model would pay."""

    prompt_tokens: int
    completion_tokens: int
    conversation_tokens: int
    """Prompt and reply of the last turn: what a training reads, and what a server with a cache computes."""


SCRIPTED_COSTS: dict[tuple[str, PromptSet], dict[str, ScriptedCost]] = {
    # over 12 instances; SmolLM2's tokenizer
    ("small", "compact"): {P: ScriptedCost(3_206, 424, 756), S: ScriptedCost(7_198, 1_019, 2_104)},
    ("small", "full"): {P: ScriptedCost(18_266, 424, 2_953), S: ScriptedCost(23_184, 1_019, 4_430)},
    ("easy", "full"): {P: ScriptedCost(7_396, 493, 3_450), S: ScriptedCost(7_611, 1_192, 4_226)},
}
VARIED_COSTS: dict[tuple[str, PromptSet], dict[str, ScriptedCost]] = {
    # of the varied teachers, over 10 instances
    ("small", "compact"): {P: ScriptedCost(7_328, 847, 1_641), S: ScriptedCost(7_535, 1_166, 1_802)},
    ("small", "full"): {P: ScriptedCost(23_299, 847, 3_919), S: ScriptedCost(24_299, 1_166, 4_174)},
    ("easy", "full"): {P: ScriptedCost(95_010, 1_878, 8_052), S: ScriptedCost(129_248, 8_641, 14_310)},
}


class EpisodeMean(NamedTuple):
    """Mean cost of one episode alone at an endpoint or core."""

    prompt_tokens: float
    completion_tokens: float
    seconds: float
    basis: str = LAPTOP


SCRIPTED_MEAN = EpisodeMean(0, 0, 0.1)
LAPTOP_MEANS: dict[Cell, EpisodeMean] = {
    # (train contract, runtime contract), None for the untrained base, which writes two turns of noise
    (P, P): EpisodeMean(3_840, 410, 0.2),
    (P, S): EpisodeMean(10_500, 1_250, 0.5),
    **dict.fromkeys([(S, P), (S, S)], EpisodeMean(8_500, 1_050, 0.4)),
    **dict.fromkeys([(None, P), (None, S)], EpisodeMean(1_700, 600, 0.3)),
}


class StageEstimate(NamedTuple):
    """A row of the dry run: episodes with tokens, or trainings."""

    stage: str
    basis: str
    hours: float
    """On one GPU, or one core where the model needs none."""
    episodes: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    """At the given prices; 0 if the study serves the model itself."""
    training_tokens: int = 0
    steps: int = 0
    """Of each training, where the tokens are those of all seeds."""
    memory_bytes: tuple[int, ...] = ()
    """Of each training on each GPU, by `GPU_COUNTS`; empty if the size of the base is unknown."""
    trainings: tuple[float, ...] = ()
    """Hours of each training on a GPU, which can run side by side; empty on a CPU."""


def estimate_study(plan: StudyPlan, prices: Prices, concurrency: int) -> list[StageEstimate]:
    """Return one estimate per stage and arm of a plan.

    What parts share (a variant's traces, its base, its models of equal seeds) has one row, named after the first part.
    `concurrency` counts the models' episodes at a time, taken to share nothing; a teacher's endpoint has its own. Raise
    `UserError` for sequences beyond a model's positions.
    """
    rows: dict[object, StageEstimate] = {}
    for part in plan.parts:
        for key, row in _part_rows(plan, part, prices, concurrency):
            rows.setdefault(key, row)
    return list(rows.values())


def _part_rows(
    plan: StudyPlan, part: StudyPart, prices: Prices, concurrency: int
) -> Iterator[tuple[object, StageEstimate]]:
    """Yield a part's rows; equal keys mean shared work."""
    title = ""
    if len(plan.parts) > 1:
        title = f"{part.name}, "
    stage = f"{title}{part.variant}"
    for contract in part.teacher.contracts:
        yield (part.variant, contract), _teacher_row(stage, part, contract, prices)
    for evaluation in part.evaluations:
        for condition in script_conditions(part, evaluation):
            yield condition, _script_row(title, condition, evaluation)
    yield from _training_rows(plan, part, stage)
    for place, row in enumerate(_cell_rows(plan, part, title, prices, concurrency)):
        yield (part.name, place), row


def _training_rows(plan: StudyPlan, part: StudyPart, stage: str) -> Iterator[tuple[object, StageEstimate]]:
    """Yield the trainings of a part: base, arms, reinforcement."""
    arms = {contract: arm_examples(plan.scale, part, contract) for contract in part.teacher.contracts}
    start = part.training if part.own_base is None else part.own_base.training
    shape = start_shape(start)
    if part.own_base is not None:
        corpus = _base_corpus(part.own_base, arms.values())
        row = _training_row(f"{stage}: training, {part.base} base", plan.scale, start, shape, corpus)
        yield (part.variant, part.base), row
    seeds = part.training_seeds
    for contract, arm in arms.items():
        named = f"{stage}: training, {contract}"
        row = _training_row(named, plan.scale, part.training, shape, arm, seeds=len(seeds))
        yield (part.variant, part.base, contract, seeds), row
    if part.reinforcement is None:
        return
    for contract in part.teacher.contracts:
        yield (part.name, contract), _reinforcement_row(stage, part, part.reinforcement, contract)


def _teacher_row(stage: str, part: StudyPart, contract: str, prices: Prices) -> StageEstimate:
    mean = SCRIPTED_MEAN
    pace = LAPTOP_CORES
    endpoint = part.teacher.endpoint
    if endpoint is not None:
        known = measured_as(part, contract)
        pace = endpoint.concurrency
        total = _published("table_1", metric="avg_total_tokens_per_episode")[known]
        mean = _published_mean("easy", known, known, total)
    return _row(f"{stage}: teacher, {contract}", part.train_instances.count, mean, prices, pace)


def _reinforcement_row(stage: str, part: StudyPart, spec: ReinforcementSpec, contract: str) -> StageEstimate:
    """Return a contract's reinforcements, as if none ended early.

    An update costs what playing its episodes does.
    """
    runtime = part.reinforced_under(contract)
    mean = LAPTOP_MEANS[(measured_as(part, contract), measured_as(part, runtime))]
    count = spec.most_updates * spec.episodes_per_update * len(part.training_seeds)
    played = mean._replace(seconds=2 * mean.seconds)
    return _row(f"{stage}: GRPO, {contract} in {runtime}", count, played, Prices(), LAPTOP_CORES)


def measured_as(part: StudyPart, contract: str) -> str:
    """Return the paper's contract whose figures stand in for another.

    It keeps all names where that one does.
    """
    if lifetime_of(part.defined(contract)).keeps == "all":
        return P
    return S


def _base_corpus(own_base: OwnBaseSpec, arms: Iterable[tuple[int, float]]) -> tuple[int, float]:
    """Return the examples and tokens of a part's own base.

    Plain conversations, or all arms' traces.
    """
    if own_base.instances is not None:
        count = own_base.instances.count
        return count, count * PLAIN_TOKENS
    learned = list(arms)
    return sum(count for count, _ in learned), sum(tokens for _, tokens in learned)


def _script_row(title: str, condition: Condition, evaluation: EvaluationSpec) -> StageEstimate:
    shown = ", shown as trained" if condition.visibility == "as_trained" else ""
    cell = f"scripted {condition.train_contract} -> {condition.runtime_contract}, {condition.bucket}{shown}"
    count = evaluation.instances.count * evaluation.replicates
    return _row(f"{title}{condition.variant}: {cell}", count, SCRIPTED_MEAN, Prices(), LAPTOP_CORES)


def arm_examples(scale: Scale, part: StudyPart, contract: str) -> tuple[int, float]:
    """Return an arm's kept examples and tokens.

    Table 5's (section C.1), or a laptop's.
    """
    means = _trace_tokens(scale, part)
    count = min(part.dataset.maximum_kept, part.train_instances.count)
    mean = means[measured_as(part, contract)]
    if part.dataset.matching == "tokens":  # the arm with the longer examples keeps fewer of them
        count = max(1, round(count * min(means[P], means[S]) / mean))
    return count, count * mean


def start_shape(training: TrainingSpec) -> ModelShape | None:
    """Return the shape of a training's start; None if remote."""
    return shape_of(training, expanded(training.base_model or ""))


def _trace_tokens(scale: Scale, part: StudyPart) -> Mapping[Any, float]:
    """Return the mean tokens of a training example by contract."""
    match scale:
        case "paper":
            return _published("table_5", metric="mean_tokens")
        case "pretrained":
            costs = _scripted_costs(part, part.train_instances.bucket, part.teacher.episode.prompt_set)
            return {contract: cost.conversation_tokens for contract, cost in costs.items()}
        case "smoke" | "laptop":
            return dict(TRACE_TOKENS)


def _scripted_costs(part: StudyPart, bucket: str, prompt_set: PromptSet) -> dict[str, ScriptedCost]:
    """Return costs of a bucket's scripts.

    An endpoint's teacher counts as the scripted one on Easy.
    """
    costs = SCRIPTED_COSTS if part.teacher.habits is None else VARIED_COSTS
    return costs.get((bucket, prompt_set), costs[("easy", "full")])


def _pretrained_mean(part: StudyPart, evaluation: EvaluationSpec, cell: Cell) -> EpisodeMean:
    """Return a pretrained model's cost, as if it played the teacher.

    A stateless runtime costs the stateless teacher's tokens, and so does a model that was trained on them.
    """
    is_persistent = cell == (P, P)
    costs = _scripted_costs(part, evaluation.instances.bucket, evaluation.episode.prompt_set)
    cost = costs[P if is_persistent else S]
    shape = start_shape(part.training) or KNOWN_SHAPES["Qwen/Qwen3-8B"]
    if part.training.is_for_gpu:
        published = _published_mean("easy", *cell)
        seconds = published.seconds * shape.parameter_count / KNOWN_SHAPES["Qwen/Qwen3-8B"].parameter_count
    else:
        seconds = cost.conversation_tokens * 2 * shape.parameter_count / core_flops(part.training, shape)
    return EpisodeMean(cost.prompt_tokens, cost.completion_tokens, seconds, SCRIPTED)


def _cell_rows(plan: StudyPlan, part: StudyPart, title: str, prices: Prices, pace: int) -> Iterator[StageEstimate]:
    billed = prices if plan.is_billed("evaluation") else Prices()
    for evaluation in part.evaluations:
        stage = f"{title}{evaluation.variant or part.variant}"
        bucket = evaluation.instances.bucket
        count = evaluation.instances.count * evaluation.replicates
        shown = ", shown as trained" if evaluation.visibility == "as_trained" else ""
        for train, runtime in cells(part, evaluation):
            cell = train and measured_as(part, train), measured_as(part, runtime)
            mean = _cell_mean(plan.scale, part, evaluation, cell)
            played = count * (len(part.training_seeds) if train else 1)
            named = f"{stage}: {train or 'base'} -> {runtime}, {bucket}{shown}"
            yield _row(named, played, mean, billed, pace)


def _cell_mean(scale: Scale, part: StudyPart, evaluation: EvaluationSpec, cell: Cell) -> EpisodeMean:
    match scale:
        case "paper":
            is_published = evaluation.instances.bucket in ("easy", "hard")
            split = evaluation.instances.bucket if is_published else "easy"
            return _published_mean(split, *cell)
        case "pretrained":
            return _pretrained_mean(part, evaluation, cell)
        case "smoke" | "laptop":
            return LAPTOP_MEANS[cell]


def _row(stage: str, count: int, mean: EpisodeMean, prices: Prices, concurrency: int) -> StageEstimate:
    pace = min(concurrency, LAPTOP_CORES) if mean.basis in (LAPTOP, SCRIPTED) else concurrency
    prompt = round(count * mean.prompt_tokens)
    completion = round(count * mean.completion_tokens)
    cost = prices.cost(Spent(prompt, 0, completion))
    return StageEstimate(stage, mean.basis, count * mean.seconds / pace / 3600, count, prompt, completion, cost)


def _training_row(
    stage: str, scale: Scale, spec: TrainingSpec, shape: ModelShape | None, arm: tuple[int, float], *, seeds: int = 1
) -> StageEstimate:
    """Return an arm's trainings; unknown shapes count as Qwen3-8B."""
    count = arm[0]
    mean_tokens = arm[1] / arm[0]
    per_pass = mean_tokens * (count - held_out_count(count, spec.validation_share))
    per_step = PACKED_SHARE * spec.batch.tokens_per_pass * spec.batch.accumulation
    steps = math.ceil(math.ceil(per_pass / per_step) * spec.epochs)
    known = shape or KNOWN_SHAPES["Qwen/Qwen3-8B"]
    speed = PEAK_FLOPS["H100"] * UTILISATION if spec.is_for_gpu else core_flops(spec, known) * spec.cpu_threads
    per_token = training_flops(spec, known, mean_tokens)
    hours = per_token * per_pass * spec.epochs / speed / 3600
    return StageEstimate(
        stage,
        {"paper": "Table 5's mean tokens", "pretrained": SCRIPTED}.get(scale, LAPTOP),
        hours * seeds,
        training_tokens=round(per_pass * spec.epochs * seeds),
        steps=min(steps, spec.max_steps or steps),
        memory_bytes=tuple(estimate_resources(spec, shape, gpus).memory_bytes for gpus in GPU_COUNTS if shape),
        trainings=(hours,) * seeds if spec.is_for_gpu else (),
    )


def _published_mean(split: str, train: str | None, runtime: str, total: float = 0) -> EpisodeMean:
    row = _published("table_2", split=split, train_semantics=train, runtime_semantics=runtime)
    basis = "Table 1's tokens, Table 2's time" if total else "Table 2's tokens and time"
    tokens = total or row["mean_total_tokens"]
    return EpisodeMean(tokens * PROMPT_SHARE, tokens * (1 - PROMPT_SHARE), row["mean_time_s"], basis)


def _published(table: str, **where: str | None) -> dict[str, Any]:
    is_asked = (pl.col(name).eq_missing(value) for name, value in where.items())
    return published_table(table).row(by_predicate=pl.all_horizontal(is_asked), named=True)
