import json
from datetime import UTC, datetime
from importlib.resources import files
from itertools import product
from pathlib import Path
from shutil import copytree

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from carryover.storage.errors import WarehouseError
from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.analysis.claims import published_claims
from carryover.tasks.analysis.compute import kept_statistics
from carryover.tasks.analysis.queries import table_names, table_query
from carryover.tasks.stages.kept_files import write_kept
from carryover.tasks.stages.results import (
    EPISODE_KEY,
    EPISODES,
    STATISTICS,
    join_former,
    keep_results,
    open_results,
    read_plans,
    write_statistics,
)
from carryover.tasks.traces.result_rows import StatisticRow
from carryover.tasks.traces.rows import EpisodeRow
from carryover.tasks.traces.study_rows import PlanStageRow, RunEndRow, RunRow
from carryover.tasks.traces.training_rows import PolicyUpdateRow, TrainingExampleRow, TrainingOverlapRow

RESULTS = Path(str(files("carryover.sql") / "results"))
CELLS = list(product(("persistent", "stateless"), repeat=2))
PLAN = json.dumps({"name": "laptop", "statistics": {"resample_count": 50}})


@pytest.fixture
def study(tmp_path, make_row):
    """A function that lands one seed of a study as a plan of its own: a teacher's trace and two instances per cell."""

    def land(plan_digest, seed, *, variant="main", trained_variant=None, token_count=7, other_share=None, run_of=None):
        zone = LandingZone(tmp_path / plan_digest)
        run = {"run_id": f"run-{plan_digest}"}
        shared = {**run, "plan_digest": plan_digest, "variant": variant, "scale": "laptop", "bucket": "small"}
        played = {"step_count": 4, "turn_count": 4, "completion_tokens": 10, "header": "names", "score": 0.5, **shared}
        teacher = {"purpose": "teacher", "base": "teacher", "instance_id": "t", "runtime_contract": "persistent"}
        teacher["habits_json"] = json.dumps({"taken_per_turn": 3, "order": "reversed"})
        teacher["prompt_set"] = "compact"
        trained = {"dataset_id": f"set-{plan_digest}", "variant": trained_variant or variant}
        example = {"contract": "persistent", **trained, **run}
        counted = {"status": "retained", "token_count": token_count, "sequence_token_count": 9, "content_digest": "d"}
        counted["other_share"] = other_share
        trace = make_row(EpisodeRow, episode_id=f"{plan_digest}-t", injected_fault_count=2, **teacher, **shared)
        episodes = [trace]
        for train, runtime in CELLS:
            for number in (1, 2):
                cell = {"train_contract": train, "runtime_contract": runtime, "training_seed": seed}
                name = f"{plan_digest}-{train}-{runtime}-{number}"
                tokens = 100 * number * (1 if train == runtime == "persistent" else 2)
                fields = {
                    "instance_id": f"i{number}",
                    "prompt_tokens": tokens - 10,
                    "base": "scratch",
                    "contract_json": json.dumps({"declares_contract": False}),
                    **cell,
                    **played,
                }
                episodes.append(make_row(EpisodeRow, episode_id=name, purpose="evaluation", **fields))
        plan = {"flow": "reproduce_study", "plan_digest": plan_digest, "plan_name": "laptop", "plan_json": PLAN}
        rows = {
            "episodes": episodes,
            "runs": [make_row(RunRow, **{"environment_json": "{}", **run, **plan, **(run_of or {})})],
            "training_examples": [
                make_row(TrainingExampleRow, episode_id=trace.episode_id, instance_id="t", **example, **counted)
            ],
            "training_overlaps": [make_row(TrainingOverlapRow, other_contract="stateless", shared_count=1, **example)],
            "run_ends": [make_row(RunEndRow, status="finished", finished_at=datetime(2026, 1, 2, tzinfo=UTC), **run)],
        }
        zone.write(rows, f"run-{plan_digest}")
        return Warehouse.open(tmp_path / plan_digest)

    return land


@pytest.mark.slow
def test_seeds_of_several_plans_are_read_as_one_study(study, tmp_path):
    folder = tmp_path / "mechanism"
    assert keep_results(study("a", 1), ["a"], folder, kept_statistics) == 9
    assert keep_results(study("b", 2), ["b"], folder, kept_statistics) == 17  # the teacher's trace is there already
    with open_results(folder) as results:
        rows = results.sql(
            "select plan_digest, kept_plan_digest, count(*) from marts.episode_metrics "
            "where purpose = 'evaluation' group by all order by all"
        ).rows()
        ratios = results.sql(
            "select distinct estimate, pair_count from statistics "
            "where plan_digest = 'mechanism' and analysis = 'ratio' and metric = 'total_tokens' "
            "and train_a = 'stateless' and runtime_a = 'stateless' "
            "and train_b = 'persistent' and runtime_b = 'persistent'"
        ).rows()
    assert rows == [("mechanism", "a", 8), ("mechanism", "b", 8)]
    assert ratios == [(2.0, 2)]
    assert [plan.plan_digest for plan in read_plans(folder)] == ["a", "b"]


def test_kept_plans_name_no_folder_of_the_machine(study, tmp_path):
    typed = "carryover run --base-model={} --teacher-url 'http://h/v1?q=/x' --params few/items.yaml --home {}"
    training = {"base_model": "/home/ada/weights/tiny", "base_revision": None}
    run = {
        "plan_json": json.dumps({**json.loads(PLAN), "parts": [{"training": training}]}),
        "environment_json": json.dumps({"command_line": typed.format("/home/ada/weights/tiny", "'~/a b'")}),
    }
    folder = tmp_path / "pretrained"
    keep_results(study("a", 1, run_of=run), ["a"], folder, kept_statistics)
    (kept,) = read_plans(folder)
    assert kept.plan["parts"][0]["training"]["base_model"] == "tiny"
    assert kept.environment["command_line"] == typed.format("tiny", "'a b'")


def test_statistics_are_computed_with_the_settings_of_the_kept_plan(study, tmp_path):
    folder = tmp_path / "mechanism"
    keep_results(study("a", 1), ["a"], folder, kept_statistics)
    told = []

    def compute(episodes, plan_digest, settings):
        told.append(settings)
        return kept_statistics(episodes, plan_digest, settings)

    write_statistics(folder, compute)
    assert told == [{"resample_count": 50}]


@pytest.mark.slow
def test_a_plan_that_is_kept_again_replaces_its_rows(study, tmp_path):
    folder = tmp_path / "mechanism"
    warehouse = study("a", 1)
    assert [keep_results(warehouse, ["a"], folder, kept_statistics) for _ in range(2)] == [9, 9]


@pytest.mark.slow
def test_cells_that_are_not_finished_can_be_left_out(study, tmp_path):
    count = keep_results(study("a", 1), ["a"], tmp_path / "mechanism", kept_statistics, "condition <> 'S->P'")
    assert count == 7


def test_a_keep_that_is_stopped_leaves_what_the_folder_held(study, tmp_path, make_row):
    folder = tmp_path / "mechanism"
    keep_results(study("a", 1), ["a"], folder, lambda *_: [make_row(StatisticRow)])
    held = {file.name: file.read_bytes() for file in folder.iterdir()}

    def stopped(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        keep_results(study("b", 2), ["b"], folder, stopped)
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == held
    assert not list(tmp_path.glob("*.tmp"))


def test_a_renamed_folder_is_a_plan_of_its_present_name(tmp_path, monkeypatch):
    monkeypatch.chdir(copytree(RESULTS / "laptop_rl", tmp_path / "renamed"))
    with open_results(Path()) as results:
        for table in ("statistics", "runs"):
            assert results.sql(f"select distinct plan_digest, run_id from {table}").rows() == [("renamed", "renamed")]
        assert results.sql("select distinct plan_digest from marts.episode_metrics").rows() == [("renamed",)]


def test_the_same_cell_and_seed_under_two_plans_is_refused(study, tmp_path):
    folder = tmp_path / "mechanism"
    keep_results(study("a", 1), ["a"], folder, kept_statistics)
    with pytest.raises(WarehouseError, match="the same episodes stand under plans a, b"):
        keep_results(study("b", 1), ["b"], folder, kept_statistics)


KEY_SCHEMA = dict.fromkeys(("plan_digest", "episode_id", *EPISODE_KEY), pl.String)


def key_frame(plan_digest, episode_id, **fields):
    """One episode of these fields; the rest of its key is null."""
    return pl.DataFrame([{"plan_digest": plan_digest, "episode_id": episode_id, **fields}], KEY_SCHEMA)


@pytest.mark.parametrize("model", [{"train_contract": None}, {"base": "teacher", "train_contract": "persistent"}])
def test_an_episode_without_a_trained_model_is_kept_once(model):
    former, new = key_frame("a", "former", **model), key_frame("b", "new", **model)
    other = key_frame("b", "other", **model, runtime_contract="stateless")
    assert join_former(former, pl.concat([new, other]))["episode_id"].to_list() == ["former", "other"]


def test_a_trained_models_episode_under_two_plans_is_refused():
    trained = {"base": "scratch", "train_contract": "persistent"}
    former, new = key_frame("a", "former", **trained), key_frame("b", "new", **trained)
    with pytest.raises(WarehouseError, match="the same episodes stand under plans a, b; keep one of them"):
        join_former(former, new)
    other_seed = key_frame("b", "new", **trained, training_seed="2")
    assert join_former(pl.concat([former, former]), other_seed)["episode_id"].to_list() == ["former", "new"]


@pytest.mark.slow
def test_an_episode_that_two_plans_share_is_kept_once(study, tmp_path):
    folder, warehouse = tmp_path / "kept", study("a", 1)
    assert keep_results(warehouse, ["a"], folder, kept_statistics) == 9
    kept = pl.read_parquet(folder / "episodes.parquet")
    pl.concat([kept, kept.with_columns(plan_digest=pl.lit("other"))]).write_parquet(folder / "episodes.parquet")
    assert keep_results(study("b", 2), ["b"], folder, kept_statistics) == 17


@pytest.mark.slow
def test_kept_training_examples_lack_digests_and_name_the_kept_trace(study, tmp_path):
    folder = tmp_path / "mechanism"
    for plan_digest, seed in (("a", 1), ("b", 2)):
        keep_results(study(plan_digest, seed), [plan_digest], folder, kept_statistics)
    table_5 = table_query("table_5").sql
    with open_results(folder) as results:
        examples = results.sql("select dataset_id, episode_id, token_count, content_digest from training_examples")
        measured = results.sql(table_5, plan_digest="mechanism").polars()
        overlaps = results.sql("select dataset_id, shared_count from training_overlaps")
    assert examples.rows() == [("set-b", "a-t", 7, None)]  # both parts trained on the trace that stands under plan a
    assert overlaps.rows() == [("set-b", 1)]
    counts = dict(measured.select("metric", "persistent").rows())
    assert (counts["retained"], counts["total_sequence_tokens"], counts["injected_faults"]) == (1, 9, 2)
    assert counts["shared_instances"] == 1


@pytest.mark.slow
def test_different_sets_of_one_variant_are_kept_apart(study, tmp_path):
    folder = tmp_path / "mechanism"
    for plan_digest, seed in (("a", 1), ("b", 2), ("c", 3)):
        keep_results(study(plan_digest, seed, token_count=7 if seed < 3 else 8), [plan_digest], folder, kept_statistics)
    with open_results(folder) as results:
        measured = results.sql(table_query("table_5").sql, plan_digest="mechanism").polars()
    tokens = measured.filter(metric="total_tokens").select("variant", "dataset_id", "persistent").rows()
    assert tokens == [("main", "set-b", 7), ("main", "set-c", 8)]  # that of plan a is that of b


@pytest.mark.slow
def test_equal_sets_of_two_variants_are_both_kept(study, tmp_path):
    folder = tmp_path / "mechanism"
    for plan_digest, seed, trained_variant in (("a", 1, "main"), ("b", 2, "half"), ("c", 3, "main")):
        keep_results(study(plan_digest, seed, trained_variant=trained_variant), [plan_digest], folder, kept_statistics)
    examples = pl.read_parquet(folder / "training_examples.parquet")
    kept = examples.select("dataset_id", "variant", "episode_id").sort("dataset_id").rows()
    assert kept == [("set-b", "half", "a-t"), ("set-c", "main", "a-t")]


@pytest.mark.slow
def test_equal_sets_keep_that_of_the_later_run(study, tmp_path):
    folder = tmp_path / "mechanism"
    for plan_digest, seed in (("b", 2), ("a", 1)):
        keep_results(study(plan_digest, seed), [plan_digest], folder, kept_statistics)
    assert pl.read_parquet(folder / "training_examples.parquet")["run_id"].to_list() == ["run-b"]


@pytest.mark.slow
def test_examples_of_traces_that_are_kept_no_more_go(study, tmp_path):
    folder = tmp_path / "mechanism"
    for plan_digest, seed in (("a", 1), ("b", 2)):
        keep_results(study(plan_digest, seed), [plan_digest], folder, kept_statistics)
    episodes = folder / "episodes.parquet"
    pl.read_parquet(episodes).filter(pl.col("plan_digest") != "a").write_parquet(episodes)
    keep_results(study("c", 3), ["c"], folder, kept_statistics)
    assert pl.read_parquet(folder / "training_examples.parquet")["episode_id"].to_list() == ["c-t"]


@pytest.mark.slow
def test_results_without_training_examples_have_an_empty_table_5(study, tmp_path):
    folder = tmp_path / "mechanism"
    keep_results(study("a", 1), ["a"], folder, kept_statistics)
    for name in ("training_examples", "training_overlaps"):
        (folder / f"{name}.parquet").unlink()
    with open_results(folder) as results:
        assert len(results.sql(table_query("table_5").sql, plan_digest="mechanism")) == 0


@pytest.mark.slow
def test_kept_rows_tell_their_doses(study, tmp_path):
    folder = tmp_path / "doses"
    keep_results(study("a", 1, other_share=0.5), ["a"], folder, kept_statistics)
    with open_results(folder) as results:
        batches = results.sql(table_query("batches").sql, plan_digest="doses").polars()
        mixture = results.sql(table_query("mixture").sql, plan_digest="doses").polars()
    cells = ["P->P", "P->S", "S->P", "S->S"]
    assert batches.select("batch", "condition").rows() == [("3", cell) for cell in cells]
    told = mixture.select("other_share", "is_declared", "condition").rows()
    assert told == [(0.5, False, cell) for cell in cells]


@pytest.mark.slow
def test_kept_reinforcements_have_their_table(study, tmp_path, make_row):
    study("a", 1)
    stage = {"plan_digest": "a", "stage": "reinforcement", "name": "rl-other-1", "stage_digest": "0d"}
    updates = [
        make_row(PolicyUpdateRow, policy_update=number, missed_share=share, reinforcement_id="rl-other-1-0d")
        for number, share in ((1, 1.0), (2, 0.25))
    ]
    rows = {"plan_stages": [make_row(PlanStageRow, **stage)], "policy_updates": updates}
    LandingZone(tmp_path / "a").write(rows, "run")
    folder = tmp_path / "rl"
    keep_results(Warehouse.open(tmp_path / "a"), ["a"], folder, kept_statistics)
    with open_results(folder) as results:
        table = results.sql(table_query("reinforcement").sql, plan_digest="rl").polars()
    assert table.select("update_count", "first_missed_pct", "last_missed_pct").rows() == [(2, 100, 25)]


def test_kept_rows_tell_habits_and_prompts_where_they_were_recorded(study, tmp_path):
    query = 'select distinct prompt_set, "order", taken_per_turn from marts.episode_metrics where purpose = $purpose'
    folder = tmp_path / "fresh"
    keep_results(study("a", 1), ["a"], folder, kept_statistics)
    with open_results(folder) as fresh:
        assert fresh.sql(query, purpose="teacher").rows() == [("compact", "reversed", "3")]
    of_before = pl.read_parquet(folder / EPISODES).drop("prompt_set", "order")
    write_kept(of_before, folder / EPISODES)
    with open_results(folder) as old:
        assert old.sql(query, purpose="teacher").rows() == [(None, None, "3")]


def test_a_plan_without_a_run_is_named(study, tmp_path):
    with pytest.raises(WarehouseError, match="no run of plan c here"):
        keep_results(study("a", 1), ["a", "c"], tmp_path / "mechanism", kept_statistics)


@pytest.mark.slow
def test_results_hold_no_text_of_an_episode(study, tmp_path):
    keep_results(study("a", 1), ["a"], tmp_path / "mechanism", kept_statistics)
    columns = set(pl.read_parquet_schema(tmp_path / "mechanism" / "episodes.parquet"))
    assert {"score", "total_tokens", "plan_digest"} <= columns
    assert not {"assistant_text", "observation", "code", "error_message", "contract_json"} & columns


@pytest.mark.slow
def test_every_table_can_be_asked_of_kept_results(study, tmp_path):
    keep_results(study("a", 1), ["a"], tmp_path / "mechanism", kept_statistics)
    known = {"plan_digest": "mechanism", "tools_json": "[]"}
    with open_results(tmp_path / "mechanism", published_claims("mechanism")) as results:
        heights = {
            name: len(results.sql(query.sql, **{key: known[key] for key in query.parameters}))
            for name, query in ((name, table_query(name)) for name in table_names())
        }
    assert heights["table_2"] == heights["table_9"] == 4
    assert heights["claims"] == len(published_claims("any"))
    assert heights["behaviour_readings"] == 0  # asks for rows below the episode


@pytest.mark.slow
def test_statistics_that_no_longer_fit_the_rows_are_computed_again(study, tmp_path):
    folder = tmp_path / "mechanism"
    keep_results(study("a", 1), ["a"], folder, kept_statistics)
    statistics = pl.read_parquet(folder / STATISTICS)
    statistics.with_columns(estimate=pl.lit(0.0)).write_parquet(folder / STATISTICS)
    assert write_statistics(folder, kept_statistics) == statistics.height
    assert_frame_equal(pl.read_parquet(folder / STATISTICS), statistics)


@pytest.mark.slow
def test_a_folder_without_results_says_so(tmp_path):
    with pytest.raises(WarehouseError, match=r"plans\.json is missing; name a folder that `carryover keep`"):
        write_statistics(tmp_path, kept_statistics)
    with pytest.raises(WarehouseError, match=r"plans\.json is missing; name a folder that `carryover keep`"):
        open_results(tmp_path)
