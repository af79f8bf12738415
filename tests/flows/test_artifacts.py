"""What a study and a night show in Prefect's UI."""

import pytest

from carryover.flows import artifacts
from carryover.flows.artifacts import show_study, show_verdicts, verdict_cells
from carryover.storage.warehouse.merger import merge
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.analysis.figures import Drawing
from carryover.tasks.analysis.queries import table_query
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.traces.result_rows import CheckResultRow, NightVerdictRow
from carryover.tasks.traces.study_rows import RunRow
from tests.storage.conftest import build_episode, build_row

CELL = {"model_name": "persistent-0", "runtime_contract": "stateless", "bucket": "small", "verdict": "regression"}
NOTHING = dict.fromkeys(
    ("mean_score", "baseline_mean_score", "token_ratio", "low", "high", "score_p_holm", "token_p_holm")
)


def test_verdict_shows_what_it_was_judged_by():
    row = build_row(
        NightVerdictRow, **CELL, baseline_run_id="study", pair_count=18, unpaired_count=2, identical_count=3,
        baseline_mean_score=0.9, mean_score=0.45678, token_ratio=1.2345, low=1.111, high=1.356, score_p_holm=0.0123,
        token_p_holm=0.5, differing=("server", "weights"), note="episode a differs from b from turn 3 on",
        identity_json="{}",
    )  # fmt: skip
    assert list(verdict_cells(row).items()) == [
        ("cell", "persistent-0 on stateless, small"),
        ("verdict", "regression"),
        ("differs", "server, weights"),
        ("score", "0.900 → 0.457"),
        ("tokens", "× 1.23 [1.11, 1.36]"),
        ("identical", "3 of 18, 2 without a pair"),
        ("p of score, tokens", "0.0123, 0.5000"),
        ("note", "episode a differs from b from turn 3 on"),
    ]


def test_a_small_p_is_no_zero():
    row = build_row(NightVerdictRow, **CELL, score_p_holm=0.0000999, token_p_holm=0.0001, identity_json="{}")
    assert verdict_cells(row)["p of score, tokens"] == "< 0.0001, 0.0001"


def test_verdict_without_baseline_shows_dashes():
    fields = {**CELL, **NOTHING, "unpaired_count": 4, "pair_count": 0, "identical_count": 0}
    row = build_row(NightVerdictRow, **fields, baseline_run_id=None, differing=(), note=None, identity_json="{}")
    shown = verdict_cells(row)
    assert [name for name, text in shown.items() if text == "-"] == ["differs", "score", "tokens", "identical", "note"]
    assert shown["p of score, tokens"] == "-, -"


def test_a_nights_verdicts_are_a_table_of_its_run(steps):
    calls = steps(artifacts, create_table_artifact=None)
    row = build_row(NightVerdictRow, **CELL, identity_json="{}")
    plan = resolve_plan("smoke_rl")
    show_verdicts(plan, [row], "regression in 1 cell")
    shown = {"key": "smoke-rl-verdicts", "description": "regression in 1 cell."}
    assert calls == [("create_table_artifact", [verdict_cells(row)], shown)]


@pytest.fixture
def studied(own_home):
    """The plan of a study with an episode and checks, of which those named are broken: call it with their names."""

    def land(*broken):
        plan = resolve_plan("smoke_rl")
        rows = build_episode("e", plan_digest=plan.digest, train_contract="persistent", runtime_contract="stateless")
        found = [
            build_row(CheckResultRow, suite=suite, check_name=name, is_passed=name not in broken)
            for suite, name in (("data", "a"), ("tables", "b"), ("tables", "c"))
        ]
        run = build_row(RunRow, plan_digest=plan.digest, plan_json=plan.model_dump_json(), environment_json="{}")
        rows |= {"runs": [run], "check_results": found}
        zone = LandingZone(own_home / "landing")
        zone.write(rows, "run")
        merge(zone, own_home / "warehouse.duckdb")
        return plan

    return land


def named(calls, step):
    """Return what a step was called with, by the artifact's key."""
    return {call[-1]["key"]: call[1:] for call in calls if call[0] == step}


def test_a_study_shows_its_result_tables_checks_and_report(steps, studied, own_home):
    plan = studied("b", "c")
    artifact_steps = ("create_markdown_artifact", "create_table_artifact", "create_link_artifact")
    drawing = Drawing(name="cells", svg="<svg/>", caption="Four cells.", setting="")
    calls = steps(artifacts, draw_cells=[drawing], **dict.fromkeys(artifact_steps))
    show_study(plan)

    shown = named(calls, "create_markdown_artifact")
    (result, options) = shown["smoke-rl-result"]
    assert options["description"] == f"The 2x2 of plan {plan.digest}."
    title, *lines = result.split("\n\n")
    assert title == f"# {plan.title}"
    assert lines[-2:] == ["![cells](data:image/svg+xml;base64,PHN2Zy8+)", "Four cells."]

    tables = {key.removeprefix("smoke-rl-").replace("-", "_") for key in shown} - {"result"}
    assert {"table_1", "table_4"} <= tables
    assert "table_2" not in tables  # without rows
    text, options = shown["smoke-rl-table-1"]
    assert options["description"] == table_query("table_1").title
    assert not text.startswith("#")
    assert "| avg prompt tokens per episode | tokens | 0 |" in text

    ((rows, options),) = named(calls, "create_table_artifact").values()
    assert [(row["suite"], row["check"], row["result"]) for row in rows] == [
        ("tables", "b", "broken"), ("tables", "c", "broken"), ("data", "a", "passed"),
    ]  # fmt: skip
    assert options == {
        "key": "smoke-rl-checks", "description": "1 of 3 checks passed. Broken: tables: b, tables: c.",
    }  # fmt: skip

    report = own_home / "documents" / f"report-{plan.digest}.html"
    assert report.is_file()
    ((address, options),) = named(calls, "create_link_artifact").values()
    assert address == report.as_uri()
    assert options["key"] == "smoke-rl-report"
    assert options["link_text"] == f"{report} on the machine that ran the analysis"


def test_passed_checks_name_none_broken(steps, studied, own_home):
    plan = studied()
    (own_home / "documents").mkdir()  # of an earlier analysis
    calls = steps(
        artifacts,
        write_report=lambda warehouse, digest, path: path,
        plan_tables=[],
        draw_cells=[],
        create_markdown_artifact=None,
        create_table_artifact=None,
        create_link_artifact=None,
    )
    show_study(plan)
    ((_, options),) = named(calls, "create_table_artifact").values()
    assert options["description"] == "3 of 3 checks passed."
