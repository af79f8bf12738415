"""Rows of results: checks, statistics, verdicts, claims, turns of suites."""

from datetime import datetime
from typing import Literal, Self

from pydantic import model_validator

from carryover.tasks.traces.rows import Row


class CheckResultRow(Row, table="check_results", key=("check_run_id", "check_name")):
    """One expectation or check file, evaluated."""

    check_run_id: str
    suite: str
    check_name: str
    is_passed: bool
    row_count: int
    unexpected_count: int
    threshold_json: str
    """The bound that the check allows, if any."""
    unexpected_json: str
    """The first offending ids."""
    checked_at: datetime


OVER_SEEDS = "t over seeds"
"""A t interval over one value per training seed; its row counts seeds as pairs."""
IntervalKind = Literal["percentile", "BCa", "t", "t over seeds", "exact binomial"]


class StatisticRow(Row, table="statistics", key=("statistic_id",), latest_wins=True):
    """A statistic with its method, as SciPy computed it."""

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
    """A night's verdict on one cell, against a baseline of equal seeds."""

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
    """Pairs with the same replies and tokens, turn by turn, the same end and the same score."""
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
    verdict: Literal[
        "first", "identical", "identical within the numerics", "unchanged", "improvement", "regression", "incomplete"
    ]
    """`first` has no baseline yet; `incomplete` has too few pairs; `unchanged` differs by less than a regression.

    `identical within the numerics` has at least nine in ten pairs identical, and nothing that decides a reply differs.
    """
    differing: tuple[str, ...]
    """Which of code, prompt, contract, environment, server and weights are not those of the baseline."""
    identity_json: str
    """Digest of each of these on the night; null where it is unknown and not compared."""
    method: str
    note: str | None
    """What differs in environment and server, in words."""
    judged_at: datetime
    """When the night's episodes were compared."""


class ClaimRow(Row, table="claims", key=("paper", "claim", "place"), latest_wins=True):
    """A value that a paper published, with our recomputation from its tables."""

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
    """A turn of a case under one arm (arXiv 2601.01569, section 4)."""

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
    """How the model acts: `persistent_code`, `stateless_code`, `code_act`, `code_to_file`, `json` or `json_python`."""
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
    """Whether the acting calls of the golden program were made, with their arguments; in a conversation all of them."""
    are_calls_reference: bool | None
    """Whether the calls of a conversation are the reference actions, in their order and no others."""
    is_passed: bool
    reward: float
    """For reinforcement learning: 1 for a passed turn, else 0."""
    judged_reward: float | None
    """What a judging model gave beside the state, where a benchmark asks for one."""
    wrong_json: str
    """Names whose state is wrong and calls that are missing, as JSON."""
    answer: str
    """The final text of the turn."""
    state_json: str | None = None
    """Checked state as JSON: `expected` and `found` by name; `found` is null for an unreadable one. Null where it was
    not kept."""
