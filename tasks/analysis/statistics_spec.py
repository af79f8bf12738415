"""Settings of the statistics: margins, levels, resamples, comparisons and metrics."""

from collections.abc import Iterable
from itertools import pairwise, product
from typing import NamedTuple

from carryover.tasks.services.frozen_model import FrozenModel
from carryover.tasks.traces.vocabulary import ContractName


class StatisticsSpec(FrozenModel):
    """Parameters of every test and interval, as their `method` names."""

    resample_count: int = 5_000
    """Bootstrap resamples (arXiv 2603.01209, Table 2)."""
    confidence: float = 0.95
    """Level of intervals."""
    alpha: float = 0.05
    """Level of tests."""
    power: float = 0.80
    """Power at which the smallest detectable difference is stated."""
    equivalence_margin: float = 0.05
    """Largest difference of mean scores that counts as equal: 5 points, the half width of the published intervals.

    Table 2 of arXiv 2603.01209 gives 4.1 to 6.9 points for a trained cell's mean over 100 instances.
    """
    sensitivity_margins: tuple[float, ...] = (0.02, 0.10)
    """Further margins that equivalence is tested at, to show how much the verdict depends on the margin."""
    seed: int = 0
    """Seed of every bootstrap."""


class ComparedArm(NamedTuple):
    """One side of a comparison: contracts of training and in force.

    The base model has no contract of training.
    """

    train: str | None
    runtime: str


class Comparison(NamedTuple):
    """Two arms of one bucket, compared on the same instances."""

    group: str
    a: ComparedArm
    b: ComparedArm


class PlannedGroup(NamedTuple):
    """Arms and replicates of a group: Holm's families in a plan."""

    arms: frozenset[ComparedArm] = frozenset()
    replicates: int = 1


PP = ComparedArm(ContractName.PERSISTENT, ContractName.PERSISTENT)
PS = ComparedArm(ContractName.PERSISTENT, ContractName.STATELESS)
SP = ComparedArm(ContractName.STATELESS, ContractName.PERSISTENT)
SS = ComparedArm(ContractName.STATELESS, ContractName.STATELESS)
BASE_P = ComparedArm(None, ContractName.PERSISTENT)
BASE_S = ComparedArm(None, ContractName.STATELESS)

CELLS = (PP, PS, SP, SS)
"""The trained cells of the 2x2, in the order in which the interaction takes them."""

COMPARISONS: tuple[Comparison, ...] = (
    Comparison("trained_vs_base", PP, BASE_P),
    Comparison("trained_vs_base", SS, BASE_S),
    Comparison("mismatched_vs_base", PS, BASE_S),
    Comparison("mismatched_vs_base", SP, BASE_P),
    Comparison("native_vs_mismatched", PP, PS),
    Comparison("native_vs_mismatched", SS, SP),
    Comparison("end_to_end", PP, SS),
    Comparison("fixed_runtime", PP, SP),
    Comparison("fixed_runtime", PS, SS),
)
"""The nine comparisons of arXiv 2603.01209, Tables 7 and 8, in their order."""

COST_COMPARISONS: tuple[Comparison, ...] = tuple(Comparison("against_aligned", arm, PP) for arm in (PS, SP, SS))
"""Every other trained cell against P->P, the paper's reference for token cost (abstract and section 4.3)."""

BASE_COMPARISONS: tuple[Comparison, ...] = (Comparison("base_on_runtimes", BASE_P, BASE_S),)
"""The base on both runtimes: whether it benefits from kept names (section 5, third prediction)."""

II = ComparedArm(ContractName.INJECTED, ContractName.INJECTED)
IS = ComparedArm(ContractName.INJECTED, ContractName.STATELESS)
PI = ComparedArm(ContractName.PERSISTENT, ContractName.INJECTED)
P_IP = ComparedArm(ContractName.PERSISTENT, ContractName.INJECTED_PERSISTENT)
SI = ComparedArm(ContractName.STATELESS, ContractName.INJECTED)
IP_I = ComparedArm(ContractName.INJECTED_PERSISTENT, ContractName.INJECTED)
IP_IP = ComparedArm(ContractName.INJECTED_PERSISTENT, ContractName.INJECTED_PERSISTENT)
IP_P = ComparedArm(ContractName.INJECTED_PERSISTENT, ContractName.PERSISTENT)
INJECTION_COMPARISONS: tuple[Comparison, ...] = tuple(
    Comparison("injection", a, b)
    for a, b in (
        (II, PP),  # what an injected frame costs or saves against kept names, and against neither
        (II, SS),
        (IP_IP, PP),  # what it adds to kept names
        (IP_IP, II),
        (PI, PS),  # whether it repairs a model that was trained on kept names
        (P_IP, PP),
        (IS, II),  # what a model that was trained on it does without
        (IP_P, IP_IP),
        (IP_I, PS),  # whether a model that was trained on both falls back on the frame
        (SI, SS),  # control: a model that needs neither
    )
)
"""The contrasts of the study of four contracts."""

LIFETIMES = (ContractName.STATELESS, "recent-1", "recent-3", ContractName.PERSISTENT)
"""Contracts of the study of lifetimes: names for no, one, three and all further blocks."""
LIFETIME_COMPARISONS: tuple[Comparison, ...] = (
    *(
        Comparison("next_lifetime", ComparedArm(train, shorter), ComparedArm(train, longer))
        for train, (shorter, longer) in product(LIFETIMES, pairwise(LIFETIMES))
    ),
    *(
        Comparison("next_lifetime_at_home", ComparedArm(shorter, shorter), ComparedArm(longer, longer))
        for shorter, longer in pairwise(LIFETIMES)
    ),
)
"""Adjacent lifetimes compared: of the runtime alone, then of training and runtime together."""


def away_from_home_comparisons(arms: Iterable[ComparedArm]) -> list[Comparison]:
    """Compare each arm outside the shipped contracts with the same model at home."""
    shipped = set(ContractName)
    return [
        Comparison("away_from_home", arm, ComparedArm(arm.train, arm.train))
        for arm in arms
        if arm.train is not None and arm.train != arm.runtime and not {arm.train, arm.runtime} <= shipped
    ]


METRICS: dict[str, tuple[str, ...]] = {
    "mean": (
        "score", "is_solved", "total_tokens", "prompt_tokens", "completion_tokens", "tokens_per_turn", "step_count",
        "missing_name_count", "has_missing_name", "context_lifespan", "interpreter_lifespan", "imports_per_step",
        "state_utilization", "redefinitions_per_step",
    ),
    "difference": (
        "score", "total_tokens", "completion_tokens", "missing_name_count", "has_missing_name", "imports_per_step",
        "state_utilization",
    ),
    "ratio": ("total_tokens", "completion_tokens", "tokens_per_turn"),
    "trained_minus_script": (
        "score", "total_tokens", "step_count", "missing_name_count", "has_missing_name", "imports_per_step",
        "state_utilization",
    ),
    "wilcoxon": ("score", "total_tokens"),
    "mcnemar": ("is_solved", "has_missing_name"),
    "interaction": ("score", "total_tokens", "missing_name_count", "imports_per_step"),
    "interaction_ratio": ("total_tokens",),
    "replicates": (
        "score", "total_tokens", "completion_tokens", "step_count", "missing_name_count", "imports_per_step",
        "state_utilization",
    ),
}  # fmt: skip
"""Metrics of each analysis, by its name in the table `statistics`."""
