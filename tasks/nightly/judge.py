"""The verdict of a night: each cell's newest episodes against its baseline, on equal instances and decoding seeds."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from carryover.tasks.analysis.alignment import align, arm_table
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
    corrected = iter(holm([cell[name] for cell in cells for name in ("score_p_value", "token_p_value")]))
    shared = dict.fromkeys(NightVerdictRow.model_fields) | {
        "run_id": night.run_id,
        "plan_digest": night.plan_digest,
        "series": night.series,
        "threshold_json": night.thresholds.model_dump_json(),
        "judged_at": night.judged_at,
    }
    rows = []
    for cell in cells:
        told = shared | cell | {"score_p_holm": next(corrected), "token_p_holm": next(corrected)}
        verdict = told["verdict"] or _verdict(told, night.thresholds)
        rows.append(NightVerdictRow.model_validate(told | {"verdict": verdict}))
    return rows


def _newest(episodes: pl.DataFrame) -> pl.DataFrame:
    """Return the last attempt at each episode."""
    return episodes.sort("started_at", "attempt").unique([*CELL, *PAIR], keep="last")


def _baseline(frame: pl.DataFrame, episodes: pl.DataFrame, night: Night) -> pl.DataFrame:
    """Return the study's episodes of a cell with the night's decoding seeds, else those of the series' first night.

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
    """Return what the night's episodes of a cell say beside its baseline; the verdict where they alone decide it."""
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
    names, note = _differences(identity, _identify(baseline, night.facts[before]))
    scores, tokens = (
        align([arm_table(side, metric) for side in (ended, baseline)]) for metric in ("score", "total_tokens")
    )
    means = [float(side.mean()) if side.size else None for side in scores.per_instance()]
    intervals = bootstrap_intervals(tokens, ratio, night.statistics)
    interval = next((one for one in reversed(intervals) if one.low is not None), intervals[0])
    tests = [signed_rank(np.subtract(*metric.per_instance())) for metric in (scores, tokens)]
    return values | {
        "baseline_run_id": before,
        "differing": names,
        "note": "; ".join(filter(None, (differing_episodes, note))) or None,
        "mean_score": means[0],
        "baseline_mean_score": means[1],
        "score_p_value": tests[0].p_value,
        "token_p_value": tests[1].p_value,
        "token_ratio": interval.estimate,
        "low": interval.low,
        "high": interval.high,
        "method": f"{tests[0].method}; tokens: {interval.method}",
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
    """Return the first turn that differs; turn 0 holds the opening messages. None for equal turns."""
    for turn, (said, said_before) in enumerate(zip_longest(turns, before)):
        if said != said_before:
            return turn
    return None


def _identify(episodes: pl.DataFrame, facts: RunFacts) -> Identity:
    """Return what decided the episodes of a cell, which one run played."""
    declared = [json.loads(text) for text in episodes["contract_json"].unique().sort()]
    apart = ("code_digest", "prompt_digest")
    return {
        "code": sorted({str(each.get("code_digest")) for each in declared}),
        "prompt": sorted({str(each.get("prompt_digest")) for each in declared}),
        "contract": [{name: value for name, value in each.items() if name not in apart} for each in declared],
        "environment": {name: facts.environment.get(name) for name in ENVIRONMENT},
        # without folders and models, which lie elsewhere on another machine
        "server": [
            {**server, "command": [word for word in server.get("command", ()) if "/" not in word]}
            for server in facts.servers
        ],
        "weights": None if episodes["model_digest"].null_count() else sorted(episodes["model_digest"].unique()),
    }


def _differences(identity: Identity, baseline: Identity) -> tuple[tuple[str, ...], str | None]:
    """Return the names whose known values differ, and the differences in words as far as more than a digest is known.

    A run with several servers has one per plan part.
    """
    known = [name for name in identity if None not in (identity[name], baseline[name])]
    names = [name for name in known if name != "server" and identity[name] != baseline[name]]
    if any(server not in baseline["server"] for server in identity["server"]):
        names.append("server")
    told = [name for name in names if name in ("contract", "environment", "server")]
    sentences = describe_difference({name: baseline[name] for name in told}, {name: identity[name] for name in told})
    more = f"; {len(sentences) - SENTENCES} more" if len(sentences) > SENTENCES else ""
    return tuple(names), "; ".join(sentences[:SENTENCES]) + more if sentences else None


def _verdict(cell: Mapping[str, Any], thresholds: Thresholds) -> str:
    """Return the verdict from corrected p-values and effect sizes."""
    paired, unpaired = cell["pair_count"], cell["unpaired_count"]
    if paired < LEAST_SHARE * (paired + unpaired):
        return "incomplete"
    if cell["identical_count"] == paired and not unpaired:
        return "identical"
    has_score, has_tokens = (
        cell[name] is not None and cell[name] < thresholds.alpha for name in ("score_p_holm", "token_p_holm")
    )
    change = (cell["mean_score"] or 0.0) - (cell["baseline_mean_score"] or 0.0)
    rise, most = 1.0 if cell["token_ratio"] is None else cell["token_ratio"], 1 + thresholds.token_rise
    if (has_score and change <= -thresholds.score_drop) or (has_tokens and rise >= most):
        return "regression"
    if (has_score and change >= thresholds.score_drop) or (has_tokens and rise <= 1 / most):
        return "improvement"
    return WITHIN_NUMERICS if _is_rounding(cell) else "unchanged"


def _is_rounding(cell: Mapping[str, Any]) -> bool:
    """Tell whether most replies are equal, and all that decides the others is known and equal."""
    has_weights = json.loads(cell["identity_json"])["weights"] is not None
    is_complete = cell["unpaired_count"] == 0
    return has_weights and is_complete and not cell["differing"] and _share_identical(cell) >= LEAST_SHARE


def _share_identical(cell: Mapping[str, Any]) -> float:
    return cell["identical_count"] / cell["pair_count"] if cell["pair_count"] else 0.0


def summarize(verdicts: Sequence[NightVerdictRow]) -> str:
    """Return a night's verdicts in a sentence: equal to the study, or how many cells got which and what differs."""
    counts = {word: sum(row.verdict == word for row in verdicts) for word in sorted({row.verdict for row in verdicts})}
    names = sorted({name for row in verdicts for name in row.differing})
    unknown = {name for row in verdicts for name, digest in json.loads(row.identity_json).items() if digest is None}
    told = ", ".join(f"{count} {word}" for word, count in counts.items())
    if set(counts) == {"first"}:
        return f"{told}: the baseline of this series"
    if is_identical := set(counts) == {"identical"}:
        told = f"all {len(verdicts)} cells equal their baseline to the token"
    if names or is_identical:
        return f"{told}; not as for the baseline: {', '.join(names)}" if names else told
    told += f", and nothing else differs: {', '.join(name for name in PARTS if name not in unknown)} are the baseline's"
    return f"{told}; not compared where unknown: {', '.join(sorted(unknown))}" if unknown else told
