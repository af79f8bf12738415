import polars as pl
import pytest

from carryover.storage.warehouse.merger import merge
from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.datasets.dataset_spec import ValidationSpec
from carryover.tasks.datasets.validation import judge_traces, rules, verdict_rows
from carryover.tasks.readers.own_rows import traces_of_rows
from carryover.tasks.services.syntax import calls_finish
from carryover.tasks.traces.tables import TABLES
from carryover.tasks.traces.vocabulary import FinishReason

NAME_ERROR = "NameError: name 'x' is not defined"


@pytest.fixture
def judge(traces):
    def _judge(*recorded, spec=None):
        return judge_traces(*traces.record(*recorded).all, spec=spec or ValidationSpec()).to_dicts()

    return _judge


def steps_with_errors(traces, count, errors):
    """`count` steps of unlike texts; the first ones end with the given errors, the last one finishes."""
    steps = [traces.step(f"look({number})", text=chr(97 + number) * 9) for number in range(count - 1)]
    for step, error in zip(steps, errors, strict=False):
        step.error = error
    return [*steps, traces.step("finish()", text="done")]


def test_a_good_trace_has_no_reason(traces, judge):
    (verdict,) = judge(traces.trace())
    assert verdict["is_valid"]
    assert (verdict["reason"], verdict["measured"], verdict["threshold"]) == (None, None, None)
    assert verdict["recorded_step_count"] == 2
    assert verdict["finish_call_count"] == 1
    assert verdict["error_density"] == 0.0
    assert verdict["loop_similarity"] is None  # fewer than four steps


def test_a_trace_without_steps_is_corrupt(traces, judge):
    (verdict,) = judge(traces.trace(steps=[traces.step(code=None)]))
    assert (verdict["reason"], verdict["measured"], verdict["threshold"]) == ("file_corrupt", 0.0, 1.0)


def test_a_trace_without_a_score_has_no_result(traces, judge):
    (verdict,) = judge(traces.trace(score=None))
    assert (verdict["reason"], verdict["measured"], verdict["threshold"]) == ("result_file_missing", 0.0, 1.0)


@pytest.mark.parametrize(("score", "reason"), [(0.49, "score_too_low"), (0.5, None)])
def test_a_score_below_one_half_is_too_low(traces, judge, score, reason):
    (verdict,) = judge(traces.trace(score=score))
    assert verdict["reason"] == reason


def test_finish_counts_only_in_the_last_three_steps(traces, judge):
    early = [traces.step("finish()"), *(traces.step(f"look({n})", text="abc"[n] * 9) for n in range(3))]
    late = [traces.step("finish()"), *(traces.step(f"look({n})") for n in range(2))]
    verdicts = judge(traces.trace("early", steps=early), traces.trace("late", instance_id="other", steps=late))
    assert {each["episode_id"]: each["reason"] for each in verdicts} == {"early": "no_finish_tool", "late": None}


@pytest.mark.parametrize(
    ("code", "is_call"),
    [
        ("finish()", True),
        ("if done:\n    finish()", True),
        ("print('finish()')", False),
        ("# finish()", False),
        ("unfinished = finish", False),
        ("kit.finish()", False),
        ("finish(", False),
        ("finish()\0", False),
        (f"finish()\n{'-' * 200_000}1", False),
    ],
)
def test_finish_must_be_called_not_mentioned(code, is_call):
    assert calls_finish(code) is is_call


def test_a_last_text_like_three_before_is_a_loop(traces, judge):
    steps = [traces.step("look()", text="Again I look at all of the items.") for _ in range(3)]
    steps.append(traces.step("finish()", text="Again I look at all of the items!"))
    (verdict,) = judge(traces.trace(steps=steps))
    # 32 of 33 characters match: 2 x 32 / 66
    assert verdict["reason"] == "zombie_loop"
    assert verdict["measured"] == pytest.approx(64 / 66)
    assert verdict["threshold"] == 0.9


def test_one_unlike_text_among_the_last_four_is_no_loop(traces, judge):
    steps = [traces.step("look()", text=text) for text in ("same text", "0123456789", "same text")]
    (verdict,) = judge(traces.trace(steps=[*steps, traces.step("finish()", text="same text")]))
    assert verdict["reason"] is None
    assert verdict["loop_similarity"] == 0.0


def test_three_equal_texts_are_too_few_for_a_loop(traces, judge):
    steps = [traces.step("finish()", text="same text") for _ in range(3)]
    (verdict,) = judge(traces.trace(steps=steps))
    assert verdict["reason"] is None


@pytest.mark.parametrize(("count", "density", "reason"), [(9, 1 / 9, "high_error_density"), (10, 0.1, None)])
def test_one_bad_error_needs_ten_steps(traces, judge, count, density, reason):
    (verdict,) = judge(traces.trace(steps=steps_with_errors(traces, count, [NAME_ERROR])))
    assert verdict["reason"] == reason
    assert verdict["error_density"] == pytest.approx(density)


def test_errors_of_environment_and_cap_are_not_bad(traces, judge):
    errors = ["ToolRuntimeException: disallowed class B", "ToolCallLimitError: Tool call limit exceeded (25)"]
    (verdict,) = judge(traces.trace(steps=steps_with_errors(traces, 4, errors)))
    assert verdict["error_density"] == 0.0


def test_wrong_arguments_are_bad_errors(traces, judge):
    (verdict,) = judge(traces.trace(steps=steps_with_errors(traces, 4, ["ToolInvocationException: item_id"])))
    assert verdict["error_density"] == 0.25


def test_injected_faults_are_no_errors_of_the_trace(traces, judge):
    by_step = steps_with_errors(traces, 4, [NAME_ERROR])
    by_step[0].injected = "drop:x"
    by_error = steps_with_errors(traces, 4, [NAME_ERROR])
    by_error[0].error_is_injected = True
    verdicts = judge(traces.trace("one", "persistent", steps=by_step), traces.trace("two", "stateless", steps=by_error))
    assert [each["error_density"] for each in verdicts] == [0.0, 0.0]


def test_an_injected_fault_excuses_no_other_step(traces, judge):
    steps = steps_with_errors(traces, 4, [NAME_ERROR, NAME_ERROR])
    steps[0].error_is_injected = True
    (verdict,) = judge(traces.trace(steps=steps))
    assert verdict["error_density"] == 0.25


def test_an_error_behind_a_caught_injected_one_is_bad(traces, judge):
    steps = steps_with_errors(traces, 4, [NAME_ERROR])
    steps[0].error_is_injected = steps[0].error_is_caught = True
    (verdict,) = judge(traces.trace(steps=steps))
    assert verdict["error_density"] == 0.25


def test_the_first_failing_check_decides(traces, judge):
    steps = [traces.step("look()", text="same text", error=NAME_ERROR) for _ in range(4)]
    broken = {"score": 0.1, "steps": steps}
    order = [judge(traces.trace(**broken))[0]["reason"]]
    for repair in ({"score": 1.0}, {"steps": [*steps[:3], traces.step("finish()", text="same text")]}):
        broken |= repair
        order.append(judge(traces.trace(**broken))[0]["reason"])
    broken["steps"] = [traces.step("look()", text=chr(97 + n) * 9, error=NAME_ERROR) for n in range(3)]
    broken["steps"].append(traces.step("finish()"))
    order.append(judge(traces.trace(**broken))[0]["reason"])
    assert order == ["score_too_low", "no_finish_tool", "zombie_loop", "high_error_density"]


def test_only_the_last_attempt_is_a_trace(traces, judge):
    verdicts = judge(traces.trace("first", attempt=0, score=None), traces.trace("second", attempt=1))
    assert [each["episode_id"] for each in verdicts] == ["second"]


@pytest.mark.parametrize(
    "other", [{"replicate": 1}, {"contract": "stateless"}, {"instance_id": "other"}], ids=lambda each: next(iter(each))
)
def test_a_retry_replaces_no_sibling(traces, judge, other):
    verdicts = judge(traces.trace("sibling", attempt=0, **other), traces.trace("retry", attempt=1))
    assert {each["episode_id"] for each in verdicts} == {"sibling", "retry"}


@pytest.mark.parametrize("column", ["plan_digest", "variant"])
def test_a_retry_replaces_no_episode_of_another_plan(traces, column):
    tables = traces.record(traces.trace("sibling", attempt=0), traces.trace("retry", attempt=1))
    episodes = pl.DataFrame(tables.episodes).with_columns(pl.Series(column, ["first", "second"]))
    verdicts = judge_traces(episodes, tables.turns, tables.steps, tables.errors, ValidationSpec())
    assert sorted(verdicts["episode_id"]) == ["retry", "sibling"]


def test_an_episode_ended_by_error_is_given_up_not_rejected(traces, judge):
    failed = {"score": None, "finish_reason": FinishReason.ERROR}
    verdicts = judge(
        traces.trace("first", attempt=0, **failed),
        traces.trace("second", attempt=1),
        traces.trace("refused", instance_id="other", steps=[traces.step(code=None)], **failed),
    )
    assert {each["episode_id"]: each["reason"] for each in verdicts} == {"second": None, "refused": "given_up"}
    (refused,) = (each for each in verdicts if each["episode_id"] == "refused")
    assert (refused["is_valid"], refused["measured"], refused["threshold"]) == (False, None, None)


def test_tables_may_be_lazy_frames(traces):
    tables = traces.record(traces.trace())
    frames = [pl.DataFrame(pl.from_arrow(table)).lazy() for table in tables.all]
    assert judge_traces(*frames, spec=ValidationSpec()).equals(judge_traces(*tables.all, spec=ValidationSpec()))


def test_tables_may_be_scans_that_bear_one_reader_each(traces, tmp_path):
    tables = traces.record(traces.trace("a"), traces.trace("b", "stateless", score=0.1))
    names = ("episodes", "turns", "steps")
    rows = {name: list(map(TABLES[name].model_validate, getattr(tables, name).to_pylist())) for name in names}
    LandingZone(tmp_path / "landing").write(rows, "run")
    merge(tmp_path / "landing", tmp_path / "study.duckdb")
    with Warehouse.open(tmp_path / "study.duckdb") as warehouse:
        scans = [warehouse.scan(name) for name in (*names, "errors")]
        verdicts = judge_traces(*scans, spec=ValidationSpec())
        linted = list(traces_of_rows(*scans[:3]))
    assert verdicts["reason"].to_list() == [None, "score_too_low"]
    assert [trace.trace_id for trace in linted] == ["a", "b"]


def test_verdicts_are_rows(traces):
    verdicts = judge_traces(*traces.record(traces.trace(score=0.25)).all, spec=ValidationSpec())
    (row,) = verdict_rows(verdicts, "run")
    assert (row.contract, row.reason, row.measured, row.threshold) == ("persistent", "score_too_low", 0.25, 0.5)


def test_rules_stand_in_the_order_of_the_paper():
    assert [
        (rule.name, rule.maximum if rule.minimum is None else rule.minimum) for rule in rules(ValidationSpec())
    ] == [
        ("file_corrupt", 1),
        ("result_file_missing", 1),
        ("score_too_low", 0.5),
        ("no_finish_tool", 1),
        ("zombie_loop", 0.9),
        ("high_error_density", 0.1),
    ]
