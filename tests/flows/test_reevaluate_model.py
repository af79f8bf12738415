"""What the nightly schedule runs: the study's seeds again and a verdict on each cell; the study's tables stay."""

import shutil
from collections import Counter

import pytest

from carryover.flows import reevaluate_model as flow_module
from carryover.flows.cli.command import run_as_command
from carryover.flows.reevaluate_model import reevaluate_model
from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.nightly.night_spec import NightObject, Thresholds
from carryover.tasks.nightly.parts import night_parts
from carryover.tasks.plans.identity import Stage
from carryover.tasks.plans.models import ALL_CELLS, ChosenCells
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits
from carryover.tasks.services.errors import UserError
from carryover.tasks.stages.runs import start_run
from carryover.tasks.traces.result_rows import NightVerdictRow
from carryover.tasks.traces.vocabulary import ContractName
from tests.flows.flow_process import run_flow, start_flow
from tests.flows.teacher_endpoint import MODEL, TeacherEndpoint, serve_teacher
from tests.storage.conftest import build_row

SMOKE = ("--scale", "smoke")
CELL = ("base", "model_digest", "train_contract", "runtime_contract", "instance_id")


@pytest.fixture
def studied(smoke_study, tmp_path):
    """A data folder with a finished study."""
    return shutil.copytree(smoke_study.home, tmp_path / "data")


def evaluated(home, variant):
    """Count the models' evaluation episodes of a variant by cell and instance, for each replicate."""
    found = {}
    for row in LandingZone(home / "landing").scan("episodes").collect().iter_rows(named=True):
        if row["base"] != "teacher" and row["variant"] == variant:
            found.setdefault(row["replicate"], Counter())[tuple(row[name] for name in CELL)] += 1
    return found


def verdicts(home, series="reevaluation"):
    """Return the verdicts of a series from the published warehouse, a list for every night."""
    query = """
        select verdict, pair_count, identical_count, baseline_run_id, run_id, differing, note
        from night_verdicts where series = $series order by judged_at
    """
    nights = {}
    with Warehouse.open(home / "warehouse.duckdb") as warehouse:
        for row in warehouse.sql(query, series=series).arrow().to_pylist():
            nights.setdefault(row["run_id"], []).append(row)
        ended = {name for (name,) in warehouse.sql("select run_id from run_ends where status = 'finished'").rows()}
    assert set(nights) <= ended  # a night's own end is merged, too
    return list(nights.values())


def rows_of_the_study(printed):
    """Return the rows of tables printed as CSV without those of the re-evaluation."""
    return [line for line in printed.splitlines() if "reevaluation" not in line]


@pytest.mark.prefect
@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_night_with_the_study_seeds_equals_it_token_by_token(studied, smoke_study, prefect_api):
    (study,) = evaluated(studied, "main").values()
    assert set(study.values()) == {1}
    printed = run_flow(studied, "tables", "--format", "csv")
    assert "reevaluation" not in printed

    for _ in range(2):
        run_flow(studied, "reevaluate", *SMOKE, server=prefect_api)
    assert evaluated(studied, "reevaluation") == {0: study + study}
    first, second = verdicts(studied)
    for row in first + second:
        assert (row["verdict"], row["pair_count"], row["identical_count"]) == ("identical", 2, 2)
        assert row["differing"] == []
    assert len(first) == 6  # the base and two trained models, under both runtimes
    assert {row["baseline_run_id"] for row in first} == {row["baseline_run_id"] for row in second}

    assert evaluated(studied, "main") == {0: study}
    run_flow(studied, "run", *smoke_study.options, server=prefect_api)
    printed_again = run_flow(studied, "tables", "--format", "csv")
    assert "reevaluation" in printed_again
    assert rows_of_the_study(printed_again) == rows_of_the_study(printed)


@pytest.mark.prefect
@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_one_model_crosses_contracts_only_on_purpose(studied, prefect_api):
    other = ("reevaluate", *SMOKE, "--model", "persistent-0", "--runtime-contract", "stateless")
    refused = start_flow(studied, *other, server=prefect_api)
    _, said = refused.communicate()
    assert refused.returncode == 1
    assert "trained on the persistent contract, the runtime is stateless" in said
    assert evaluated(studied, "reevaluation") == {}

    run_flow(studied, *other, "--is-cross-evaluation", "--seeds", "1", server=prefect_api)
    assert evaluated(studied, "reevaluation") == {}
    played = evaluated(studied, "reevaluation-seeds-1")[1]
    assert {(train, runtime) for _, _, train, runtime, _ in played} == {("persistent", "stateless")}
    assert len(played) == 2
    ((row,),) = verdicts(studied, "reevaluation-seeds-1")
    assert (row["verdict"], row["baseline_run_id"]) == ("first", None)


@pytest.mark.prefect
@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_endpoint_is_judged_against_its_first_night_without_study(tmp_path, prefect_api):
    home = tmp_path / "data"
    skipped = start_flow(home, "reevaluate", *SMOKE, server=prefect_api)
    _, said = skipped.communicate()
    assert skipped.returncode == 0, said
    assert "skipped: no finished study of scale 'smoke' to evaluate again" in " ".join(said.split())

    endpoint = TeacherEndpoint()
    with serve_teacher(endpoint):
        options = (*SMOKE, "--endpoint-url", endpoint.base_url, "--endpoint-model", MODEL)
        for _ in range(2):
            run_flow(home, "reevaluate", *options, server=prefect_api)
    first, second = verdicts(home)
    assert [row["verdict"] for row in first] == ["first", "first"]
    assert [row["verdict"] for row in second] == ["identical", "identical"]
    assert {row["baseline_run_id"] for row in second} == {row["run_id"] for row in first}
    assert [(row["differing"], row["note"]) for row in second] == [([], None), ([], None)]


@pytest.fixture
def night(tmp_path, monkeypatch):
    """A night after a finished study, with other steps than its own: call it with what it judges."""
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path))
    monkeypatch.delenv("CARRYOVER_LANDING", raising=False)
    with start_run("reproduce_study", resolve_plan("smoke"), Limits()):
        pass

    def play(*words, cells=ALL_CELLS, **steps):
        rows = [build_row(NightVerdictRow, verdict=word, identity_json="{}") for word in words]
        replaced = ("_play", "merge_landing", "report_unmerged", "show_verdicts", "analyse_study", "announce_night")
        idle = dict.fromkeys(replaced, lambda *_, **__: None)
        for name, step in {**idle, "judge_episodes": lambda *_: rows, **steps}.items():
            monkeypatch.setattr(f"carryover.flows.reevaluate_model.{name}", step)
        return reevaluate_model.fn("smoke", cells=cells)

    return play


def test_a_night_without_a_chosen_cell_is_refused_before_it_starts(night, tmp_path):
    with pytest.raises(
        UserError, match="plan smoke has no cell --model persistent-7; choose --model from persistent-0"
    ):
        night(cells=ChosenCells(model="persistent-7"))
    assert LandingZone(tmp_path / "landing").scan("runs").collect()["flow"].to_list() == ["reproduce_study"]


@pytest.mark.parametrize("words", [("identical", "regression"), ("identical", "improvement"), ("first",)])
def test_a_night_completes_with_its_verdicts_as_tags_and_message(night, words):
    """Prefect's page of a deployment lists no run in a state of another name."""
    tagged = []
    state = night(*words, add_tags=lambda *added: tagged.extend(added))
    assert state.name == "Completed"
    assert sorted(tagged) == [f"verdict:{word}" for word in words]
    assert all(word in (state.message or "") for word in words)


def test_a_night_without_a_study_is_skipped(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path))
    monkeypatch.delenv("CARRYOVER_LANDING", raising=False)
    tagged = []
    monkeypatch.setattr("carryover.flows.reevaluate_model.add_tags", tagged.append)
    state = reevaluate_model.fn("smoke")
    assert (state.name, tagged) == ("Completed", ["verdict:skipped"])
    assert (state.message or "").startswith("skipped: no finished study of scale 'smoke' to evaluate again")
    assert "skipped: no finished study of scale 'smoke' to evaluate again" in " ".join(capsys.readouterr().err.split())


def test_verdicts_are_shown_and_said_though_the_analysis_fails(night, capsys):
    def fail(*_, **__):
        raise UserError("no analysis")

    shown = []
    with pytest.raises(UserError, match="no analysis"):
        night("first", analyse_study=fail, show_verdicts=lambda plan, rows, message: shown.append((plan.name, message)))
    assert shown == [("smoke", "first in 1 cell: the baseline of this series")]
    assert "first in 1 cell: the baseline of this series" in capsys.readouterr().err


def test_a_night_with_an_incomplete_cell_fails_after_its_analysis(night, tmp_path):
    analysed = []
    announced = []
    tagged = []
    with pytest.raises(
        UserError, match="too few episodes of a cell ended to judge it: identical in 1 cell, incomplete in 1 cell"
    ):
        night(
            "identical",
            "incomplete",
            analyse_study=lambda **named: analysed.append(named["run_id"]),
            announce_night=lambda *told: announced.append(told),
            add_tags=lambda *added: tagged.extend(added),
        )
    assert sorted(tagged) == ["verdict:identical", "verdict:incomplete"]
    assert announced == []  # the alert of a missed night waits for one
    ends = LandingZone(tmp_path / "landing").scan("run_ends").sort("finished_at").collect()
    assert list(ends["status"]) == ["finished", "failed"]
    assert analysed == [ends["run_id"][-1]]


def test_what_a_night_plays_is_options_of_the_command():
    seen = []
    options = ["--model", "persistent-0", "--runtime-contract", "stateless", "--is-cross-evaluation", "--seeds", "2"]
    with pytest.raises(SystemExit):
        run_as_command(reevaluate_model, options, answer=lambda parameters: seen.append(parameters) or True)
    (parameters,) = seen
    assert parameters["cells"] == ChosenCells(
        model="persistent-0", runtime_contract=ContractName.STATELESS, is_cross_evaluation=True
    )
    assert parameters["night"] == NightObject(seeds=2)


def test_a_night_plays_its_parts_again(steps, own_home):
    plan = resolve_plan("laptop_full")
    night, chosen = NightObject(seeds=1), ChosenCells(model="persistent-1")
    calls = steps(flow_module, evaluate_part=None, provide_instances=None)
    with start_run("reevaluate_model", plan, Limits(refresh=(Stage.DATA,), max_tokens_total=9)) as run:
        flow_module._play(run, plan.parts[:2], chosen, night)
    limits = Limits(refresh=(Stage.DATA, Stage.EVALUATION), max_tokens_total=9)
    again = run.model_copy(update={"limits": limits})
    assert calls == [("evaluate_part", again, part, {"chosen": chosen, "night": night}) for part in plan.parts[:2]]


def test_an_endpoints_part_gets_its_instances(steps, own_home):
    plan = resolve_plan("laptop_full")
    night = NightObject(endpoint_url="http://127.0.0.1:8/v1", endpoint_model="m")
    parts = night_parts(plan, ALL_CELLS, night)
    calls = steps(flow_module, evaluate_part=None, provide_instances=None)
    with start_run("reevaluate_model", plan, Limits()) as run:
        flow_module._play(run, parts, ALL_CELLS, night)
    *provided, evaluated = calls
    assert provided == [("provide_instances", run, each.instances) for each in parts[0].evaluations]
    assert provided
    assert evaluated[2] == parts[0]


AROUND = {
    "_play": None, "merge_landing": "merged", "report_unmerged": None, "show_verdicts": None, "analyse_study": None,
    "announce_night": None,
}  # fmt: skip


def test_a_named_study_is_judged_in_place_of_the_latest(steps, own_home):
    with start_run("reproduce_study", resolve_plan("smoke_injected"), Limits()) as study:
        pass
    row = build_row(NightVerdictRow, verdict="first", identity_json="{}")
    calls = steps(flow_module, **AROUND, judge_episodes=[row])
    thresholds = Thresholds(score_drop=0.2)
    night, cells = NightObject(seeds=3), ChosenCells(model="persistent-0")
    reevaluate_model.fn(
        "smoke", Limits(max_tokens_total=3), study.run_id, cells=cells, night=night, thresholds=thresholds
    )
    run = calls[0][1]
    assert (run.plan, run.limits) == (study.plan, Limits(max_tokens_total=3))
    message = "first in 1 cell: the baseline of this series"
    assert calls == [
        ("_play", run, night_parts(study.plan, cells, night), cells, night),
        ("merge_landing", run),
        ("report_unmerged", "merged"),
        ("judge_episodes", run, night.series, thresholds),
        ("show_verdicts", study.plan, [row], message),
        ("analyse_study", {"limits": Limits(max_tokens_total=3), "run_id": run.run_id}),
        ("merge_landing", run),
        ("report_unmerged", "merged"),
        ("announce_night", run, night.series, message),
    ]


def test_an_endpoint_needs_no_study(steps, own_home):
    row = build_row(NightVerdictRow, verdict="first", identity_json="{}")
    calls = steps(flow_module, **AROUND, judge_episodes=[row])
    night = NightObject(endpoint_url="http://127.0.0.1:8/v1", endpoint_model="m")
    assert reevaluate_model.fn("smoke", night=night).message == "first in 1 cell: the baseline of this series"
    assert calls[0][1].plan == resolve_plan("smoke")
