"""The verdict of a night: each cell against its baseline."""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import chain, zip_longest
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from carryover.tasks.analysis.alignment import align, arm_table, mean_of
from carryover.tasks.analysis.decisions import holm
from carryover.tasks.analysis.intervals import bootstrap_intervals, ratio
from carryover.tasks.analysis.paired_tests import signed_rank
from carryover.tasks.analysis.statistics_spec import StatisticsSpec
from carryover.tasks.nightly.night_spec import Thresholds
from carryover.tasks.plans.difference import describe_difference
from carryover.tasks.services.source_digest import canonical_json
from carryover.tasks.traces.result_rows import NightVerdictRow
from carryover.tasks.traces.vocabulary import FinishReason

CELL = (
    "base", "model_name", "train_contract", "training_seed", "runtime_contract", "visibility", "header", "bucket",
)  # fmt: skip
PAIR = ("instance_id", "replicate")
OUTCOME = ("transcript_digest", "finish_reason", "score")
"""Columns equal in identical episodes: scores may change without a reply, if an environment or a scoring did."""
LEAST_SHARE = 0.9
"""Share of the baseline's episodes, or of a first night's, below which nothing is said of a cell."""
ENVIRONMENT = ("python", "system", "machine", "processor", "vector_instructions", "gpu", "packages")
"""Fields of a run's environment that can change a reply; its command line cannot."""
PARTS = ("code", "prompt", "contract", "environment", "server", "weights")
"""Parts that decide an episode, beside its instance and its decoding seeds."""
DESCRIBED_PARTS = ("contract", "environment", "server")
"""Parts whose values are kept whole; of the others there is a digest."""
WITHIN_NUMERICS = "identical within the numerics"
"""Verdict on a few replies that differ where nothing else does: arithmetic rounds by what is computed side by side."""
NAMED_EPISODES = 3
"""Most episodes that a note names."""
SENTENCES = 5
"""Most differences that a note lists."""
Identity = dict[str, Any]
"""Values by the names of `PARTS`; None if one is unknown, as the weights behind an endpoint are."""


class RunFacts(NamedTuple):
    """Environment and servers of a run."""

    environment: Mapping[str, Any]
    servers: tuple[Mapping[str, Any], ...]
    """Servers that answered for its models."""


class Night(NamedTuple):
    """Run, variants and thresholds of a night's judgement."""

    run_id: str
    plan_digest: str
    study_variant: str
    series: str
    judged_at: datetime
    thresholds: Thresholds
    statistics: StatisticsSpec
    facts: Mapping[str, RunFacts]
    """Facts of each run, by its id."""


def judge_night(episodes: pl.DataFrame, night: Night) -> list[NightVerdictRow]:
    """Return one row per cell that the night played.

    The episodes are a plan's evaluation, every attempt, as `sql/commands/judged_episodes.sql` returns them.
    """
    played = _newest(episodes.filter(pl.col("run_id") == night.run_id)).sort(*CELL, *PAIR)
    cells = [_compare(frame, episodes, night) for frame in played.partition_by(CELL, maintain_order=True)]
    # One family, both tests of every cell: a night alarms where any of them rejects.
    p_values = chain.from_iterable((cell["score_p_value"], cell["token_p_value"]) for cell in cells)
    corrected = iter(holm(list(p_values)))
    shared = dict.fromkeys(NightVerdictRow.model_fields) | {
        "run_id": night.run_id,
        "plan_digest": night.plan_digest,
        "series": night.series,
        "threshold_json": night.thresholds.model_dump_json(),
        "judged_at": night.judged_at,
    }
    rows = []
    for cell in cells:
        fields = shared | cell | {"score_p_holm": next(corrected), "token_p_holm": next(corrected)}
        verdict = fields["verdict"] or _verdict(fields, night.thresholds)
        rows.append(NightVerdictRow.model_validate(fields | {"verdict": verdict}))
    return rows


def _newest(episodes: pl.DataFrame) -> pl.DataFrame:
    """Return the last attempt at each episode."""
    return episodes.sort("started_at", "attempt").unique([*CELL, *PAIR], keep="last")


def _baseline(frame: pl.DataFrame, episodes: pl.DataFrame, night: Night) -> pl.DataFrame:
    """Return a cell's baseline: the study, or the series' first night.

    A night that was killed, or too incomplete to finish, is no baseline.
    """
    same = episodes.join(frame, on=[*CELL, "replicate"], how="semi", nulls_equal=True)
    earlier = same.filter((pl.col("run_id") != night.run_id) & (pl.col("finish_reason") != FinishReason.ERROR.value))
    study = _newest(earlier.filter(pl.col("variant") == night.study_variant))
    if study.height:
        return study
    nights = earlier.filter((pl.col("variant") == night.series) & pl.col("is_of_finished_run")).sort("started_at")
    return _newest(nights.filter(pl.col("run_id") == pl.col("run_id").first()))


def _compare(frame: pl.DataFrame, episodes: pl.DataFrame, night: Night) -> dict[str, Any]:
    """Compare a cell's episodes with its baseline.

    The verdict is among the values where the episodes alone decide it.
    """
    baseline = _baseline(frame, episodes, night)
    ended = frame.filter(pl.col("finish_reason") != FinishReason.ERROR.value)
    is_same = [pl.col(name).eq_missing(pl.col(f"{name}_before")) for name in OUTCOME]
    pairs = ended.join(baseline, on=[*CELL, *PAIR], suffix="_before", nulls_equal=True)
    identity = _identify(frame, night.facts[night.run_id])
    known = {name: canonical_json(value).encode() for name, value in identity.items() if value is not None}
    digests = dict.fromkeys(PARTS) | {name: hashlib.sha256(text).hexdigest()[:16] for name, text in known.items()}
    values: dict[str, Any] = {
        **frame.select(CELL).row(0, named=True),
        "pair_count": pairs.height,
        "unpaired_count": baseline.height - pairs.height,
        "identical_count": pairs.drop_nulls("transcript_digest").filter(is_same).height,
        "differing": (),
        "identity_json": json.dumps(digests),
        "score_p_value": None,
        "token_p_value": None,
        "method": "no baseline",
    }
    if not baseline.height:
        return values | {"verdict": "first" if ended.height / frame.height >= LEAST_SHARE else "incomplete"}
    before = baseline.sort("started_at")["run_id"][-1]
    differing_episodes = _describe_pairs(pairs.filter(~pl.all_horizontal(is_same)))
    former = _identify(baseline, night.facts[before])
    names = _differing_parts(identity, former)
    note = "; ".join(filter(None, (differing_episodes, _describe_parts(names, identity, former)))) or None
    measured = _measure_change(ended, baseline, night.statistics)
    return values | {"baseline_run_id": before, "differing": names, "note": note} | measured


def _measure_change(ended: pl.DataFrame, baseline: pl.DataFrame, statistics: StatisticsSpec) -> dict[str, Any]:
    """Return means, paired tests and the interval of the token ratio."""
    scores = align([arm_table(side, "score") for side in (ended, baseline)])
    tokens = align([arm_table(side, "total_tokens") for side in (ended, baseline)])
    score, baseline_score = scores.per_instance()
    score_test = signed_rank(np.subtract(score, baseline_score))
    token_test = signed_rank(np.subtract(*tokens.per_instance()))
    intervals = bootstrap_intervals(tokens, ratio, statistics)
    interval = next((one for one in reversed(intervals) if one.low is not None), intervals[0])
    return {
        "mean_score": mean_of(score),
        "baseline_mean_score": mean_of(baseline_score),
        "score_p_value": score_test.p_value,
        "token_p_value": token_test.p_value,
        "token_ratio": interval.estimate,
        "low": interval.low,
        "high": interval.high,
        "method": f"{score_test.method}; tokens: {interval.method}",
    }


def _describe_pairs(differing: pl.DataFrame) -> str | None:
    """Return which episodes differ from their counterparts, and from which turn on."""
    sentences = []
    for row in differing.sort(*PAIR).head(NAMED_EPISODES).iter_rows(named=True):
        turn = _first_difference(row["turn_digests"] or [], row["turn_digests_before"] or [])
        where = "in its end" if turn is None else f"from turn {turn} on"
        sentences.append(f"episode {row['episode_id']} differs from {row['episode_id_before']} {where}")
    more = differing.height - len(sentences)
    if more:
        sentences.append(f"{more} more episodes differ")
    return "; ".join(sentences) or None


def _first_difference(turns: Sequence[str], before: Sequence[str]) -> int | None:
    """Return the first turn that differs.

    Turn 0 holds the opening messages. None for equal turns.
    """
    for turn, (said, said_before) in enumerate(zip_longest(turns, before)):
        if said != said_before:
            return turn
    return None


def _identify(episodes: pl.DataFrame, facts: RunFacts) -> Identity:
    """Return what decided the episodes of a cell, which one run played."""
    declared = [json.loads(text) for text in episodes["contract_json"].unique().sort()]
    is_known = episodes["model_digest"].null_count() == 0
    return {
        "code": sorted({str(each.get("code_digest")) for each in declared}),
        "prompt": sorted({str(each.get("prompt_digest")) for each in declared}),
        "contract": [_without_digests(each) for each in declared],
        "environment": {name: facts.environment.get(name) for name in ENVIRONMENT},
        "server": [_without_paths(server) for server in facts.servers],
        "weights": sorted(episodes["model_digest"].unique()) if is_known else None,
    }


def _without_digests(declared: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in declared.items() if name not in ("code_digest", "prompt_digest")}


def _without_paths(server: Mapping[str, Any]) -> dict[str, Any]:
    """Return a server's description without folders and models.

    They lie elsewhere on another machine.
    """
    return {**server, "command": [word for word in server.get("command", ()) if "/" not in word]}


def _differing_parts(identity: Identity, baseline: Identity) -> list[str]:
    """Return the names of the parts whose known values differ."""
    names = [name for name in identity if name != "server" and _is_other(identity[name], baseline[name])]
    # a run has one server for each part of its plan, and a night may play fewer parts than its baseline
    if any(server not in baseline["server"] for server in identity["server"]):
        names.append("server")
    return names


def _describe_parts(names: Sequence[str], identity: Identity, baseline: Identity) -> str:
    """Describe the differences of parts that are kept whole."""
    described = [name for name in names if name in DESCRIBED_PARTS]
    before = {name: baseline[name] for name in described}
    after = {name: identity[name] for name in described}
    sentences = describe_difference(before, after, sides=("the baseline", "the night"))
    words = "; ".join(sentences[:SENTENCES])
    if len(sentences) > SENTENCES:
        words += f"; {len(sentences) - SENTENCES} more"
    return words


def _is_other(value: object, before: object) -> bool:
    return value is not None and before is not None and value != before


def _verdict(cell: Mapping[str, Any], thresholds: Thresholds) -> str:
    """Return the verdict from corrected p-values and effect sizes."""
    paired = cell["pair_count"]
    unpaired = cell["unpaired_count"]
    if paired < LEAST_SHARE * (paired + unpaired):
        return "incomplete"
    if cell["identical_count"] == paired and not unpaired:
        return "identical"
    return _judge_change(cell, thresholds)


def _judge_change(cell: Mapping[str, Any], thresholds: Thresholds) -> str:
    has_score = _is_significant(cell["score_p_holm"], thresholds.alpha)
    has_tokens = _is_significant(cell["token_p_holm"], thresholds.alpha)
    change = _score_change(cell)
    rise = _token_rise(cell)
    most = 1 + thresholds.token_rise
    is_worse = has_score and change <= -thresholds.score_drop
    is_better = has_score and change >= thresholds.score_drop
    is_dearer = has_tokens and rise >= most
    is_cheaper = has_tokens and rise <= 1 / most
    if is_worse or is_dearer:
        return "regression"
    if is_better or is_cheaper:
        return "improvement"
    if _is_rounding(cell):
        return WITHIN_NUMERICS
    return "unchanged"


def _score_change(cell: Mapping[str, Any]) -> float:
    """Return the difference of mean scores; missing ones are 0."""
    return (cell["mean_score"] or 0.0) - (cell["baseline_mean_score"] or 0.0)


def _token_rise(cell: Mapping[str, Any]) -> float:
    """Return the ratio of the tokens; 1 where it is unknown."""
    if cell["token_ratio"] is None:
        return 1.0
    return cell["token_ratio"]


def _is_rounding(cell: Mapping[str, Any]) -> bool:
    """Tell whether most replies are equal, and every part else.

    A part that is unknown does not count as equal.
    """
    has_weights = json.loads(cell["identity_json"])["weights"] is not None
    is_complete = cell["unpaired_count"] == 0
    share_identical = cell["identical_count"] / cell["pair_count"]
    return has_weights and is_complete and not cell["differing"] and share_identical >= LEAST_SHARE


def summarize(verdicts: Sequence[NightVerdictRow]) -> str:
    """Summarize a night's verdicts in one sentence."""
    counts = Counter(row.verdict for row in verdicts)
    summary = ", ".join(f"{word} in {_cells(count)}" for word, count in sorted(counts.items()))
    if set(counts) == {"first"}:
        return f"{summary}: the baseline of this series"
    is_identical = set(counts) == {"identical"}
    if is_identical:
        summary = f"{_cells(len(verdicts))}, each equal to its baseline to the token"
    differing = sorted(set(chain.from_iterable(row.differing for row in verdicts)))
    if differing:
        return f"{summary}; differs from the baseline in: {', '.join(differing)}"
    if is_identical:
        return summary
    return summary + _describe_equal_parts(verdicts)


def _cells(count: int) -> str:
    return "1 cell" if count == 1 else f"{count} cells"


def _describe_equal_parts(verdicts: Sequence[NightVerdictRow]) -> str:
    """Name parts that equal the baseline's, and unknown ones."""
    unknown = set().union(*map(_unknown_parts, verdicts))
    equal = [name for name in PARTS if name not in unknown]
    words = f", and nothing else differs: {', '.join(equal)} are the baseline's"
    if unknown:
        words += f"; not compared where unknown: {', '.join(sorted(unknown))}"
    return words


def _unknown_parts(verdict: NightVerdictRow) -> set[str]:
    digests = json.loads(verdict.identity_json)
    return {name for name, digest in digests.items() if digest is None}


def _is_significant(p_value: float | None, alpha: float) -> bool:
    return p_value is not None and p_value < alpha
