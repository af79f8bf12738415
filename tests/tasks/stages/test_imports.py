"""Foreign episodes land as a run of their own, with statistics, or not at all."""

import json

import pytest

from carryover.storage.warehouse.merger import merge
from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.folders import name_folders
from carryover.tasks.stages.imports import import_episodes
from carryover.tasks.traces.study_rows import RunRow
from tests.storage.conftest import build_row

REPLY = {"role": "assistant", "content": "```python\nx = 1\n```"}
SHOWN = {"role": "user", "content": "Observation:\n1"}
SAID = {"role": "assistant", "content": "I cannot."}
SETTING = {"runtime_contract": "persistent", "model_name": "mine"}


def write(path, *conversations):
    path.write_text("".join(json.dumps({"messages": messages}) + "\n" for messages in conversations))
    return path


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    """A data folder with an import of two episodes, made anew, and what the import reported."""
    folder = tmp_path_factory.mktemp("imported")
    source = write(folder / "traces.jsonl", [REPLY, SHOWN], [REPLY, SHOWN, REPLY, SHOWN])
    with source.open("a") as file:
        file.write("{not JSON\n")
    home = folder / "new" / "data"
    return home, source, import_episodes(source, home, SETTING)


def query(home, sql):
    with Warehouse.open(name_folders(home).warehouse) as warehouse:
        return warehouse.sql(sql).rows()


def test_an_import_counts_what_it_read_and_what_not(imported):
    _, source, report = imported
    assert (report.episode_count, report.step_count, report.passed_over) == (2, 3, ())
    assert report.merged.row_counts["episodes"] == 2
    (unread,) = report.unread
    assert unread.startswith(f"1 unread: a line that is not JSON in UTF-8 (first: line 3 of {source}: ")


def test_an_import_is_a_run_with_statistics_and_claims(imported):
    home, source, _ = imported
    ((run_id, *described, plan_json),) = query(
        home,
        "select run_id, flow, plan_name, plan_digest, scale, status, plan_json from runs join run_ends using (run_id)",
    )
    assert described == ["import", "import", "import", "import", "finished"]
    plan = json.loads(plan_json)
    assert plan["source"] == str(source)
    assert (plan["setting"]["runtime_contract"], plan["setting"]["model_name"]) == ("persistent", "mine")
    assert "run_id" not in plan["setting"]
    assert query(home, "select plan_digest, model_name, count(*), sum(step_count) from episodes group by all") == [
        ("import", "mine", 2, 3)
    ]
    for table in ("statistics", "claims"):
        assert query(home, f"select distinct run_id from {table}") == [(run_id,)]


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        (
            {"model_name": "other"},
            "plan 'import' has episodes of model 'mine' in the cells of 'other'; import it under",
        ),
        ({"plan": "2"}, "bad plan name '2'; begin with a letter"),
    ],
)
def test_a_setting_that_cannot_be_lands_nothing(imported, tmp_path, setting, told):
    home, *_ = imported
    source = write(tmp_path / "traces.jsonl", [REPLY, SHOWN])
    before = LandingZone(name_folders(home).landing).manifests().bundles
    with pytest.raises(UserError) as refused:
        import_episodes(source, home, SETTING | setting)
    assert str(refused.value).startswith(told)
    assert LandingZone(name_folders(home).landing).manifests().bundles == before


@pytest.mark.parametrize(
    ("conversations", "told"),
    [
        ([], "no trace in {source}: 1 unread: empty file (first: {source}); nothing was imported"),
        ([[SAID, SHOWN]], "no executed block in 1 episodes of {source}; nothing was imported"),
    ],
)
def test_a_source_without_a_block_that_ran_is_refused(tmp_path, conversations, told):
    source = write(tmp_path / "traces.jsonl", *conversations)
    with pytest.raises(UserError) as refused:
        import_episodes(source, tmp_path / "data", SETTING)
    assert str(refused.value) == told.format(source=source)
    assert not (tmp_path / "data").exists()


def test_the_plan_of_another_flow_is_refused(tmp_path):
    folders = name_folders(tmp_path / "data")
    run = build_row(RunRow, run_id="run", flow="reproduce_study", plan_digest="mine")
    LandingZone(folders.landing).write({"runs": [run]}, "run")
    merge(folders.landing, folders.warehouse)
    source = write(tmp_path / "traces.jsonl", [REPLY, SHOWN])
    with pytest.raises(UserError, match="plan 'mine' belongs to flow reproduce_study; choose another name with --plan"):
        import_episodes(source, tmp_path / "data", SETTING | {"plan": "mine"})


def test_a_source_of_several_models_in_one_cell_is_refused(tmp_path):
    source = tmp_path / "traces.jsonl"
    lines = [json.dumps({"messages": [REPLY, SHOWN], "model": name}) for name in ("b", "a")]
    source.write_text("\n".join(lines))
    with pytest.raises(UserError) as refused:
        import_episodes(source, tmp_path / "data", {"runtime_contract": "persistent"})
    assert str(refused.value) == (
        f"{source} has episodes of several models in one cell: 'a', 'b'; name one for all with --model, or import each "
        "model's file under a plan of its own with --plan"
    )
    assert not (tmp_path / "data").exists()
    assert import_episodes(source, tmp_path / "data", SETTING).episode_count == 2
