"""Rows about the study itself: runs, training, checks, statistics and published claims."""

from datetime import datetime
from typing import Literal, Self

from pydantic import model_validator

from carryover.tasks.traces.rows import EPISODE_TABLES, InstanceRow, ItemRow, Row


class RunRow(Row, table="runs", key=("run_id",)):
    """One execution of a flow that lands rows."""

    flow: str
    plan_name: str
    plan_digest: str
    scale: Literal["smoke", "laptop", "paper", "import"]
    plan_json: str
    """The resolved plan."""
    environment_json: str
    """Python, package versions, CPU or GPU, and the run that this one is a stage of, as JSON."""
    source: str | None = None
    """Digest of the source of the packages that produce rows, as it was when the run began; null for imports."""
    started_at: datetime


RunStatus = Literal["finished", "failed", "stopped"]


class RunEndRow(Row, table="run_ends", key=("run_id",)):
    """How a run ended; a run without one was killed or is still going."""

    status: RunStatus
    message: str
    finished_at: datetime


class PlanStageRow(Row, table="plan_stages", key=("plan_digest", "stage", "name"), latest_wins=True):
    """What a plan has of a stage: the result that its run made, or found made for another plan."""

    plan_digest: str
    stage: str
    """Stage of the study: `tokenizer`, `traces`, `data`, `training` or `evaluation`."""
    name: str
    """Tells the results of a stage apart, e.g. `main-scratch-persistent-0`."""
    stage_digest: str
    """Identity of the stage: its inputs and the source behind it; equal for plans that share the result."""
    result_json: str | None
    """Where the result lies and what it is, for the stages after it; null for rows, and where the stage failed."""


class ReusedEpisodeRow(Row, table="reused_episodes", key=("plan_digest", "episode_id")):
    """An episode that a plan takes from another plan of the same stage identity."""

    plan_digest: str
    """The plan that reuses it; the episode's own row names the plan that played it."""
    episode_id: str


class TraceVerdictRow(Row, table="trace_verdicts", key=("validation_digest", "episode_id")):
    """What the data checks measured on a trace, and the first rule that it fails (arXiv 2603.01209, appendix C.1.1)."""

    validation_digest: str
    """Digest of the thresholds."""
    episode_id: str
    contract: str
    """Contract in force."""
    instance_id: str
    replicate: int
    is_valid: bool
    reason: str | None
    """First failing rule, or `given_up` for an episode that ended with `error` for good; null for a valid trace."""
    measured: float | None
    """What that rule measured."""
    threshold: float | None
    """The bound that it broke."""
    recorded_step_count: int
    result_count: int
    """1 where the episode has a score, else 0."""
    score: float | None
    finish_call_count: int
    """Steps that call finish() among the last ones looked at."""
    loop_similarity: float | None
    """Smallest similarity of the last text with the ones before it: exact above the threshold, else an upper bound."""
    error_density: float | None
    """Steps that end with a bad error, over all steps; injected faults left out."""


class TrainingExampleRow(Row, table="training_examples", key=("dataset_id", "episode_id")):
    """A teacher trace as training data, kept or not."""

    dataset_id: str
    """Digest of the dataset's spec and its source episodes."""
    variant: str
    contract: str
    episode_id: str
    instance_id: str
    position: int
    """Place in the shuffled order, from 0."""
    status: Literal["retained", "skipped", "unprocessed"]
    reason: str | None
    """Why it was skipped."""
    measured: float | None
    threshold: float | None
    token_count: int | None
    """Tokens after truncation, with the per-message cost of arXiv 2603.01209, C.1."""
    assistant_token_count: int | None
    message_count: int | None
    is_truncated: bool
    text_format: Literal["paper", "exact_wire"]
    retention: Literal["keep_first", "paired"]
    matching: Literal["episodes", "tokens"]
    content_digest: str | None
    labels: Literal["true", "shuffled"] | None = None
    """Whether the arms are their own contract's traces; null before that was recorded."""
    fault_weight: int | None = None
    """Training weight of replies that met an injected fault; null before that was recorded."""
    sequence_token_count: int | None = None
    """Tokens that the training sees, chat template included; null for what is not retained."""


class TrainingOverlapRow(Row, table="training_overlaps", key=("dataset_id", "contract", "other_contract")):
    """The instances that two arms of a dataset have in common."""

    dataset_id: str
    variant: str
    contract: str
    other_contract: str
    instance_count: int
    """Instances that the first arm keeps."""
    other_instance_count: int
    shared_count: int
    """Instances that both keep."""


class TrainingRunRow(Row, table="training_runs", key=("training_run_id",), latest_wins=True):
    """One fine-tuning."""

    training_run_id: str
    dataset_id: str
    variant: str
    contract: str | None
    """Contract of the training traces; null for a base."""
    base: str
    training_seed: int
    base_model: str
    model_digest: str
    output_path: str
    parameter_count: int
    trained_parameter_count: int
    token_count: int
    """Tokens seen, all epochs."""
    step_count: int
    final_loss: float
    settings_json: str
    device: str
    attention: str
    """Implementation of attention that computed it, e.g. `flex_attention`."""
    wall_seconds: float
    started_at: datetime


class TrainingMetricRow(Row, table="training_metrics", key=("training_run_id", "optimizer_step"), latest_wins=True):
    """A logging step of a fine-tuning."""

    training_run_id: str
    optimizer_step: int
    epoch: float
    loss: float
    learning_rate: float
    gradient_norm: float | None
    token_count: int
    wall_seconds: float
    token_accuracy: float | None
    """Share of learned tokens that were the most likely ones, since the previous row."""
    entropy: float | None
    """Mean entropy of the next token at learned positions, in nats, since the previous row."""
    peak_memory_bytes: int | None
    """Largest allocation of the GPU so far; without one, of the process."""
    utilization: float | None
    """Share of the GPU's peak operations since the previous row; null without a known GPU."""
    validation_loss: float | None
    """Loss on the held-out conversations at this step; null where it was not taken."""


class CheckResultRow(Row, table="check_results", key=("check_run_id", "check_name")):
    """One expectation or check file, evaluated."""

    check_run_id: str
    suite: str
    check_name: str
    is_passed: bool
    row_count: int
    unexpected_count: int
    threshold_json: str
    unexpected_json: str
    """The first offending ids."""
    checked_at: datetime


OVER_SEEDS = "t over seeds"
"""A t interval over one value per training seed; its row counts seeds as pairs."""
IntervalKind = Literal["percentile", "BCa", "t", "t over seeds", "exact binomial"]


class StatisticRow(Row, table="statistics", key=("statistic_id",), latest_wins=True):
    """A statistic with its method; maths with a name is computed by SciPy and lands here."""

    statistic_id: str
    """Digest of plan, analysis, metric, arms and method."""
    plan_digest: str
    variant: str
    base: str
    visibility: str
    header: str
    bucket: str
    analysis: str
    """`wilcoxon`, `difference`, `ratio`, `equivalence`, `mcnemar`, `interaction`, `mean`, `power`, ..."""
    comparison_group: str
    """Group of Tables 7-8 (`native_vs_mismatched`, ...), or the cell for a mean."""
    metric: str
    train_a: str | None
    runtime_a: str | None
    train_b: str | None
    runtime_b: str | None
    pair_count: int
    nonzero_count: int | None
    mean_a: float | None
    mean_b: float | None
    estimate: float | None
    low: float | None
    """Lower end of the interval."""
    high: float | None
    confidence: float | None
    interval_kind: IntervalKind | None
    """How the interval is made; none for a statistic that has none."""
    statistic: float | None
    p_value: float | None
    p_holm: float | None
    """Corrected by Holm over the tests of one kind and metric in a group (of all metrics where they share the arms)."""
    effect_size: float | None
    """Signed rank-biserial correlation (W+ - W-)/(W+ + W-)."""
    effect_size_authors: float | None
    """The authors' script's figure, 1 - 2 min(W+, W-)/(n(n+1)); in [0.5, 1], without sign."""
    verdict: str | None
    method: str
    note: str | None
    """Why there is no test, where there is none."""


class NightVerdictRow(
    Row,
    table="night_verdicts",
    key=("run_id", "base", "model_name", "runtime_contract", "visibility", "header", "bucket"),
):
    """What a night's re-evaluation says of one cell: its newest episodes against a baseline of equal decoding seeds."""

    plan_digest: str
    series: str
    """Variant under which the night's episodes landed: one per set of decoding seeds."""
    base: str
    model_name: str
    train_contract: str | None
    training_seed: int | None
    runtime_contract: str
    visibility: str
    header: str
    bucket: str
    baseline_run_id: str | None
    """Run that played the baseline: the study's, or the first night of the series; null where this is that night."""
    pair_count: int
    """Episodes that ended on both sides, by instance and decoding seed."""
    unpaired_count: int
    """Episodes of the baseline without a counterpart that ended."""
    identical_count: int
    """Pairs with the same replies and the same tokens, turn by turn."""
    mean_score: float | None
    """Over the pairs."""
    baseline_mean_score: float | None
    """Over the same pairs, as the baseline scored."""
    score_p_value: float | None
    """Wilcoxon's signed-rank test of the paired scores."""
    score_p_holm: float | None
    """Corrected over both tests of every cell of the night."""
    token_ratio: float | None
    """Mean total tokens over those of the baseline."""
    low: float | None
    """Lower end of the ratio's bootstrap interval."""
    high: float | None
    token_p_value: float | None
    """Wilcoxon's signed-rank test of the paired total tokens."""
    token_p_holm: float | None
    """Corrected as that of the scores."""
    threshold_json: str
    """From which size on a significant difference is a regression."""
    verdict: Literal["first", "identical", "unchanged", "improvement", "regression", "incomplete"]
    """`first` has no baseline yet; `incomplete` has too few pairs; `unchanged` differs by less than a regression."""
    differing: tuple[str, ...]
    """Which of code, prompt, contract, environment, server and weights are not those of the baseline."""
    identity_json: str
    """Digest of each of these on the night."""
    method: str
    note: str | None
    """What differs in environment and server, in words."""
    judged_at: datetime
    """When the night's episodes were compared."""


class ClaimRow(Row, table="claims", key=("paper", "claim", "place"), latest_wins=True):
    """A published value of one of the papers, with our recomputation from its own tables."""

    paper: str
    claim: str
    place: str
    published: str | None
    recomputed: str | None
    tolerance: float | None
    """Largest difference that still holds; none for what is not a number."""
    no_tolerance_reason: Literal["words", "lost"] | None = None
    """Why there is no tolerance: a claim in words, or a number that the conversion of the paper lost."""
    verdict: Literal["holds", "rounding", "partly holds", "overstated", "incomplete", "inconsistent", "unverifiable"]
    note: str | None = None
    """What was found, in words."""

    @model_validator(mode="after")
    def _has_a_tolerance_or_a_reason(self) -> Self:
        if (self.tolerance is None) == (self.no_tolerance_reason is None):
            raise ValueError(f"claim {self.claim!r} needs either a tolerance or a reason for having none")
        return self


class CaveTurnRow(Row, table="cave_turns", key=("episode_id", "question")):
    """A turn of a case under one arm, checked by program (arXiv 2601.01569, section 4)."""

    episode_id: str
    plan_digest: str
    """Digest of the comparison's plan: model, budgets, seed."""
    attempt: int
    """0 for the first; an episode that ended with `error` is played again as the next attempt."""
    suite: str
    """Suite of the case, e.g. `types`."""
    tier: str
    """Part of the suite, e.g. `scientific`."""
    case_id: str
    """Names the case, with suite and tier."""
    source: str
    """Where the case comes from, with its revision."""
    question: int
    """Counted from 1 over the turns of the case."""
    arm: str
    """How the model acts: `persistent_code`, `stateless_code`, `code_without_injection`, `json` or `json_python`."""
    instruction: str
    """Factor of the prompt in force, e.g. `parallel`, or `none`."""
    model_name: str
    is_oracle: bool
    """Whether a script played it that knows the solution: it shows only that the harness loses nothing."""
    replicate: int
    """Repetition of the case, from 0."""
    size: int
    """Rows of the data that the case is about; 0 for none."""
    first_reply: int
    """Place of the turn's first model reply in the episode, from 1."""
    reply_count: int
    """Model replies: the steps of the paper's Table 4."""
    call_count: int
    """Calls of host functions."""
    golden_call_count: int
    """Calls that the golden program makes."""
    prompt_tokens: int
    completion_tokens: int
    finish_reason: str
    is_state_right: bool
    """Whether the checked state is the golden program's."""
    has_required_calls: bool
    """Whether the acting calls of the golden program were made, with their arguments."""
    is_passed: bool
    reward: float
    """For reinforcement learning: 1 for a passed turn, else 0."""
    judged_reward: float | None
    """What a judging model gave beside the state, where a benchmark asks for one."""
    wrong_json: str
    """Names whose state is wrong and calls that are missing, as JSON."""
    answer: str
    """The final text of the turn."""


STUDY_TABLES: tuple[type[Row], ...] = (
    RunRow,
    RunEndRow,
    PlanStageRow,
    ReusedEpisodeRow,
    InstanceRow,
    ItemRow,
    TraceVerdictRow,
    TrainingExampleRow,
    TrainingOverlapRow,
    TrainingRunRow,
    TrainingMetricRow,
    CheckResultRow,
    StatisticRow,
    NightVerdictRow,
    ClaimRow,
    CaveTurnRow,
)

TABLES: dict[str, type[Row]] = {row.TABLE: row for row in (*STUDY_TABLES, *EPISODE_TABLES)}
"""Every table of the warehouse by name."""
