import json
from datetime import UTC, datetime
from itertools import product

import polars as pl
import pytest

from carryover.tasks.checks.suites import FailedChecksError
from carryover.tasks.datasets.dataset_spec import DatasetSpec, ValidationSpec
from carryover.tasks.datasets.suite import gate_examples, gate_traces
from carryover.tasks.datasets.validation import REASONS, judge_traces
from carryover.tasks.services.progress import no_bar
from carryover.tasks.traces.training_rows import TrainingExampleRow
from carryover.tasks.traces.vocabulary import FinishReason
from tests.bars import RecordedBars

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CONTRACTS = ("persistent", "stateless")
LENIENT = ValidationSpec(minimum_yield=0.0, minimum_recorded_share=0.0)


@pytest.fixture
def judged(traces):
    """Traces of both contracts, in which every rule is broken by someone, and some break several."""

    def step(code, text, error=None):
        return traces.step(code, text=text, error=error)

    looping = [step("look()", "same text") for _ in range(3)] + [step("finish()", "same text")]
    erring = [step("x", "One.", "NameError: x"), step("finish()", "Two.")]
    kinds = {
        "good": {},
        "empty": {"steps": [traces.step(code=None)], "score": 0.1},
        "unscored": {"score": None, "steps": erring},
        "poor": {"score": 0.2, "steps": looping},
        "endless": {"steps": [step("look()", "One.", "NameError: x")]},
        "looping": {"steps": looping},
        "erring": {"steps": erring},
    }
    recorded = [
        traces.trace(f"{contract}-{name}", contract, name, **settings)
        for contract, (name, settings) in product(CONTRACTS, kinds.items())
    ]
    return judge_traces(*traces.record(*recorded).all, spec=LENIENT)


def gate(verdicts, folder, spec=LENIENT, contracts=CONTRACTS, open_bar=no_bar):
    return gate_traces(
        verdicts, folder, spec=spec, contracts=contracts, run_id="run", checked_at=NOW, open_bar=open_bar
    )


def test_checks_of_both_contracts_are_shown_as_they_come(judged, tmp_path):
    bars = RecordedBars()
    rows = gate(judged, tmp_path, open_bar=bars.open)
    assert [bar.done for bar in bars.shown] == [bar.total for bar in bars.shown]
    assert sum(bar.done for bar in bars.shown) == len(rows)


def test_verdicts_and_expectations_agree(judged, tmp_path):
    unexpected = {}
    for row in gate(judged, tmp_path):
        unexpected.setdefault(row.check_name, []).extend(json.loads(row.unexpected_json))
    first_broken = {
        episode_id: next((reason for reason in REASONS if episode_id in unexpected[reason]), None)
        for episode_id in judged["episode_id"]
    }
    assert first_broken == dict(judged.select("episode_id", "reason").iter_rows())
    assert set(first_broken.values()) == {None, *REASONS}
    assert sorted(unexpected["yield"]) == sorted(judged.filter(pl.col("reason").is_not_null())["episode_id"])


def test_a_yield_too_small_stops_with_reasons_and_counts(judged, tmp_path):
    with pytest.raises(FailedChecksError) as caught:
        gate(judged, tmp_path, LENIENT.model_copy(update={"minimum_yield": 0.5}))
    message = str(caught.value)
    assert "; traces_stateless: " in message
    assert f"yield broken by 6, 1 of 7 valid ({', '.join(f'{reason} 1' for reason in sorted(REASONS))})" in message
    assert str(tmp_path / "index.html") in message
    assert message.endswith(
        ", then play the traces again with --refresh traces, or relax the checks with --minimum-yield, "
        "--minimum-score, --maximum-error-density or --maximum-loop-similarity"
    )
    assert "\n" not in message
    assert "yield" in {row.check_name for row in caught.value.rows if not row.is_passed}


def test_a_reason_that_nobody_knows_stops(judged, tmp_path):
    unheard = pl.when(pl.col("episode_id") == "persistent-poor").then(pl.lit("other")).otherwise("reason")
    with pytest.raises(FailedChecksError, match="traces_persistent: known_reason broken by 1"):
        gate(judged.with_columns(unheard.alias("reason")), tmp_path)


def test_a_trace_without_its_counterpart_stops(traces, tmp_path):
    recorded = [traces.trace("p", "persistent", "one"), traces.trace("s", "stateless", "other")]
    verdicts = judge_traces(*traces.record(*recorded).all, spec=LENIENT)
    with pytest.raises(FailedChecksError, match="same_instance_in_every_arm broken by 1"):
        gate(verdicts, tmp_path)


def with_given_up(traces, count, spec):
    """Return verdicts on two instances per contract, `count` of which were given up in the persistent arm."""
    failed = {"score": None, "steps": [traces.step(code=None)], "finish_reason": FinishReason.ERROR}
    recorded = [traces.trace(f"{contract}-{n}", contract, str(n)) for contract, n in product(CONTRACTS, range(2))]
    recorded[:count] = [traces.trace(f"refused-{n}", "persistent", str(n), **failed) for n in range(count)]
    return judge_traces(*traces.record(*recorded).all, spec=spec)


def test_given_up_episodes_count_neither_in_yield_nor_pairing(traces, tmp_path):
    """One of two episodes was given up: half of all that was asked, and no rule is held against it."""
    strict = ValidationSpec(minimum_yield=0.5, minimum_recorded_share=1.0)
    rows = gate(with_given_up(traces, 1, strict), tmp_path, strict)
    assert all(row.is_passed for row in rows)
    assert {(row.suite, row.row_count) for row in rows} == {("traces_persistent", 1), ("traces_stateless", 2)}


def test_more_given_up_than_may_be_invalid_stops(traces, tmp_path):
    strict = ValidationSpec(minimum_yield=0.6)
    message = "traces_persistent: enough_not_given_up broken by 0, 1 of 1 valid, 1 episodes given up; see"
    with pytest.raises(FailedChecksError, match=message):
        gate(with_given_up(traces, 1, strict), tmp_path, strict)


def test_a_wholly_given_up_arm_stops_with_the_count(traces, tmp_path):
    refused = traces.trace("refused", "persistent", score=None, finish_reason=FinishReason.ERROR)
    verdicts = judge_traces(*traces.record(refused, traces.trace("whole", "stateless")).all, spec=LENIENT)
    message = "traces_persistent: traces_exist broken by 0, 0 of 0 valid, 1 episodes given up"
    with pytest.raises(FailedChecksError, match=message):
        gate(verdicts, tmp_path)


def test_a_contract_without_traces_stops(traces, tmp_path):
    verdicts = judge_traces(*traces.record(traces.trace()).all, spec=LENIENT)
    with pytest.raises(FailedChecksError, match="traces_stateless: traces_exist"):
        gate(verdicts, tmp_path)


def example(name, contract="persistent", position=0, token_count: int | None = 10, sequence_token_count=20):
    return TrainingExampleRow(
        run_id="run", dataset_id="dataset", variant="main", contract=contract, episode_id=name,
        instance_id=f"instance-{position}", position=position, reason=None, measured=None,
        status="retained" if token_count else "skipped",
        threshold=None, token_count=token_count, assistant_token_count=1, message_count=3, is_truncated=False,
        text_format="paper", retention="keep_first", matching="episodes", content_digest="digest",
        sequence_token_count=sequence_token_count if token_count else None,
    )  # fmt: skip


def test_examples_within_the_budget_pass(tmp_path):
    rows = gate_examples([example("a")], tmp_path, spec=DatasetSpec(), run_id="run", checked_at=NOW)
    assert all(row.is_passed for row in rows)
    assert {(row.suite, row.row_count) for row in rows} == {("examples_persistent", 1)}
    assert {"token_limit", "sequence_limit"} <= {row.check_name for row in rows}


def test_an_example_over_the_budget_stops(tmp_path):
    rows = [example("a", token_count=16_285)]
    with pytest.raises(FailedChecksError, match="examples_persistent: token_limit broken by 1"):
        gate_examples(rows, tmp_path, spec=DatasetSpec(), run_id="run", checked_at=NOW)


def test_an_example_longer_than_the_training_takes_stops(tmp_path):
    rows = [example("a", sequence_token_count=16_385)]
    with pytest.raises(FailedChecksError, match="examples_persistent: sequence_limit broken by 1"):
        gate_examples(rows, tmp_path, spec=DatasetSpec(), run_id="run", checked_at=NOW)


def test_paired_examples_must_be_paired(tmp_path):
    rows = [example("a"), example("b", "stateless", position=1)]
    with pytest.raises(FailedChecksError, match="same_instance_in_every_arm broken by 1"):
        gate_examples(rows, tmp_path, spec=DatasetSpec(retention="paired"), run_id="run", checked_at=NOW)


@pytest.mark.parametrize(
    ("retention", "way_out"),
    [
        ("paired", "keep traces without a partner with --retention keep_first"),
        ("keep_first", "raise --train-count for more traces, or --context-tokens for longer ones"),
    ],
)
def test_way_out_is_not_the_setting_that_stopped(tmp_path, retention, way_out):
    spec = DatasetSpec(retention=retention)
    with pytest.raises(FailedChecksError) as caught:
        gate_examples([example("a", token_count=None)], tmp_path / "docs", spec=spec, run_id="run", checked_at=NOW)
    assert str(caught.value).endswith(f", then play the traces again with --refresh traces, or {way_out}")


def test_an_arm_that_keeps_nothing_stops(tmp_path):
    rows = [example("a"), example("b", "stateless", token_count=None)]
    with pytest.raises(FailedChecksError, match="examples_stateless: examples_exist"):
        gate_examples(rows, tmp_path, spec=DatasetSpec(), run_id="run", checked_at=NOW)
