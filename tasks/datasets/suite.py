"""The gate before training: data checks as expectations."""

import math
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import polars as pl

from carryover.tasks.checks.suites import Check, FailedChecksError, Suite, run_suites
from carryover.tasks.datasets.dataset_spec import DatasetSpec, ValidationSpec
from carryover.tasks.datasets.validation import GIVEN_UP, REASONS, rules
from carryover.tasks.services.progress import OpenBar, no_bar
from carryover.tasks.traces.result_rows import CheckResultRow
from carryover.tasks.traces.training_rows import TrainingExampleRow

OF_TRACES = (
    "relax the checks with --minimum-yield, --minimum-score, --maximum-error-density or --maximum-loop-similarity"
)
OF_PAIRS = "keep traces without a partner with --retention keep_first"
OF_EXAMPLES = "raise --train-count for more traces, or --context-tokens for longer ones"


def gate_traces(
    verdicts: pl.DataFrame,
    docs_folder: Path,
    *,
    spec: ValidationSpec,
    contracts: Sequence[str],
    run_id: str,
    checked_at: datetime,
    open_bar: OpenBar = no_bar,
) -> list[CheckResultRow]:
    """Gate traces with one suite per contract; stop if few pass.

    `verdicts` are what `judge_traces` returned. Data Docs in `docs_folder` show thresholds, shares and ids of the
    traces that break each rule. All `contracts` must have traces, on the same instances. Raise `FailedChecksError`,
    with reasons and counts and every result as `rows`, where a suite fails; `UserError` where it cannot be evaluated.
    """
    suites = {contract: trace_suite(verdicts, contract, contracts, spec) for contract in contracts}
    rows = run_suites(list(suites.values()), docs_folder, run_id=run_id, checked_at=checked_at, open_bar=open_bar)
    details = {}
    for contract, suite in suites.items():
        of_contract = verdicts.filter(pl.col("contract") == contract)
        frame = of_contract.filter(pl.col("reason").ne_missing(GIVEN_UP))
        counts = frame.drop_nulls("reason")["reason"].value_counts().sort("count", "reason", descending=[True, False])
        found = ", ".join(f"{reason} {count}" for reason, count in counts.iter_rows())
        text = f", {int(frame['is_valid'].sum())} of {frame.height} valid" + (f" ({found})" if found else "")
        given_up = of_contract.height - frame.height
        details[suite.name] = text + (f", {given_up} episodes given up" if given_up else "")
    return _pass_or_raise(rows, details, docs_folder, OF_TRACES)


def trace_suite(verdicts: pl.DataFrame, contract: str, contracts: Sequence[str], spec: ValidationSpec) -> Suite:
    """Return the suite over a contract's verdicts.

    Given-up episodes are in no share, and leave no other arm alone.

    How many may be given up is bounded apart: what is left must be the share of the episodes that must be valid of it.
    """
    of_contract = verdicts.filter(pl.col("contract") == contract)
    arms = pl.col("contract").filter(pl.col("contract").is_in(list(contracts))).n_unique()
    frame = (
        verdicts.with_columns(arm_count=arms.over("instance_id", "replicate"), is_valid=pl.col("is_valid").cast(int))
        .filter(pl.col("contract") == contract, pl.col("reason").ne_missing(GIVEN_UP))
    )  # fmt: skip
    least = math.ceil(round(spec.minimum_yield * of_contract.height, 9))  # whatever the share's last binary digit
    checks = (
        Check(name="traces_exist", kind="row_count", minimum=1),
        Check(name="enough_not_given_up", kind="row_count", minimum=least),
        *rules(spec),
        Check(name="yield", kind="between", column="is_valid", minimum=1, minimum_share=spec.minimum_yield),
        Check(name="known_reason", kind="in_set", column="reason", allowed=REASONS),
        Check(name="same_instance_in_every_arm", kind="between", column="arm_count", minimum=len(contracts)),
    )
    return Suite(f"traces_{contract}", frame, checks, "episode_id")


def gate_examples(
    rows: Sequence[TrainingExampleRow],
    docs_folder: Path,
    *,
    spec: DatasetSpec,
    run_id: str,
    checked_at: datetime,
    open_bar: OpenBar = no_bar,
) -> list[CheckResultRow]:
    """Check training data: not empty, within budget, and paired.

    Arguments, errors and Data Docs as for `gate_traces`; `rows` are those of `prepare_dataset`.
    """
    contracts = list(dict.fromkeys(row.contract for row in rows))
    columns = ("episode_id", "contract", "position", "token_count", "sequence_token_count", "message_count")
    retained = [{name: getattr(row, name) for name in columns} for row in rows if row.status == "retained"]
    frame = pl.DataFrame(retained, schema=list(columns)).with_columns(
        arm_count=pl.col("contract").n_unique().over("position")
    )
    longest = spec.maximum_sequence_tokens
    paired = Check(name="same_instance_in_every_arm", kind="between", column="arm_count", minimum=len(contracts))
    checks = (
        Check(name="examples_exist", kind="row_count", minimum=1, maximum=spec.maximum_kept),
        Check(name="token_limit", kind="between", column="token_count", minimum=1, maximum=spec.token_budget),
        Check(name="sequence_limit", kind="between", column="sequence_token_count", minimum=1, maximum=longest),
        Check(name="message_count", kind="between", column="message_count", minimum=2),
        *([paired] if spec.retention == "paired" else []),
    )
    suites = [
        Suite(f"examples_{contract}", frame.filter(pl.col("contract") == contract), checks, "episode_id")
        for contract in contracts
    ]
    results = run_suites(suites, docs_folder, run_id=run_id, checked_at=checked_at, open_bar=open_bar)
    way_out = OF_PAIRS if spec.retention == "paired" else OF_EXAMPLES
    return _pass_or_raise(results, {suite.name: "" for suite in suites}, docs_folder, way_out)


def _pass_or_raise(
    rows: list[CheckResultRow], details: dict[str, str], docs_folder: Path, way_out: str
) -> list[CheckResultRow]:
    failed: dict[str, list[str]] = {}
    for row in rows:
        if not row.is_passed:
            failed.setdefault(row.suite, []).append(f"{row.check_name} broken by {row.unexpected_count}")
    if not failed:
        return rows
    found = "; ".join(f"{suite}: {', '.join(names)}{details[suite]}" for suite, names in failed.items())
    raise FailedChecksError(
        f"checks stop the training: {found}; see {docs_folder / 'index.html'}, then play the traces again with "
        f"--refresh traces, or {way_out}",
        rows,
    )
