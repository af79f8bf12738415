"""The thread through every stage, without a Prefect server: two tiny models trained, served and cross-evaluated."""

import json
from importlib import metadata
from pathlib import Path

import polars as pl
import pytest

from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.analyse import check_warehouse, compute_study_statistics, merge_landing
from carryover.tasks.collect import Collected, collect_episodes
from carryover.tasks.plans.models import ChosenCells
from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits, Run
from carryover.tasks.plans.shards import evaluation_shards, script_shards, teacher_shards
from carryover.tasks.provide_tokenizer import make_tokenizer
from carryover.tasks.serve import find_models, serve_models
from carryover.tasks.sft.card import ContractMismatchError
from carryover.tasks.sft.training_log import LOG_NAME, read_log
from carryover.tasks.stages.runs import start_run
from carryover.tasks.traces.vocabulary import ContractName
from carryover.tasks.train import find_trained, note_training, plan_training, train_model
from tests.tasks.made import make_instances, make_training_data

pytestmark = pytest.mark.slow
TRAIN_COUNT, EVALUATION_COUNT = 12, 2


def collect_teacher(run: Run, tokenizer: Path | None) -> list[Collected]:
    (part,) = run.plan.parts
    return [collect_episodes.fn(run, shard) for shard in teacher_shards(run, part, tokenizer)]


def model_folder(run: Run, contract: str) -> Path:
    return find_trained(run, f"main-scratch-{contract}-0").path


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def told():
    """What the evaluation says to the person in front of it."""
    return []


@pytest.fixture(scope="module")
def study(home, told):
    """A smoke study of the smallest size, run stage by stage."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CARRYOVER_HOME", str(home))
        overrides = Overrides(train_count=TRAIN_COUNT, evaluation_count=EVALUATION_COUNT)
        with start_run("reproduce_study", resolve_plan("smoke", overrides), Limits()) as run:
            (part,) = run.plan.parts
            for instance_set in run.plan.instance_sets():
                make_instances(run, instance_set)
            tokenizer = make_tokenizer(run, part)
            collect_teacher(run, tokenizer)
            make_training_data(run, part, tokenizer)
            for contract in part.teacher.contracts:
                training = plan_training(run, part, contract, part.training_seeds[0], tokenizer)
                note_training(run, training, train_model.fn(run, training))
            models = find_models.fn(run, part, tokenizer)
            with serve_models(run, part, models, tell=told.append) as server:
                (evaluation,) = part.evaluations
                evaluated = evaluation_shards(run, part, evaluation, models, base_url=server.base_url)
                for shard in (*script_shards(run, part, tokenizer), *evaluated):
                    collect_episodes.fn(run, shard)
            merge_landing.fn(run)
            compute_study_statistics.fn(run)
            check_warehouse.fn(run)
            merge_landing.fn(run)
    return run


def test_every_stage_leaves_its_rows_in_the_warehouse(study):
    with Warehouse.open(study.folders.warehouse) as warehouse:
        counts = {
            table: warehouse.sql(f"select count(*) from {table}").rows()[0][0]
            for table in ("instances", "training_runs", "training_examples")
        }
        episodes = warehouse.sql("select purpose, count(*) from episodes group by purpose").rows()
    assert counts == {
        "instances": TRAIN_COUNT + EVALUATION_COUNT,
        "training_runs": 2,
        "training_examples": 2 * TRAIN_COUNT,
    }
    assert dict(episodes) == {"teacher": 2 * TRAIN_COUNT, "evaluation": 10 * EVALUATION_COUNT}


def test_logging_steps_land_as_the_training_logged_them(study):
    (part,) = study.plan.parts
    landed = LandingZone(study.landing).scan("training_metrics").sort("training_run_id", "optimizer_step").collect()
    for contract in part.teacher.contracts:
        folder = model_folder(study, contract)
        logged = [metric.model_dump(exclude={"total_steps"}) for metric in read_log(folder / LOG_NAME)]
        rows = landed.filter(pl.col("training_run_id") == folder.name)
        assert rows.select(logged[0].keys()).to_dicts() == logged
        assert rows["optimizer_step"].to_list() == [5, 10, 15, 20]  # of 20, every fifth


def test_server_run_records_version_and_command(study):
    runs = LandingZone(study.landing).read("runs").to_pylist()
    (environment,) = (json.loads(row["environment_json"]) for row in runs if row["flow"] == "serve_models")
    server = environment["server"]
    assert environment["joined_run"] == study.run_id
    assert (server["engine"], server["version"]) == ("cpu", f"carryover {metadata.version('carryover')}")
    assert server["command"][1:4] == ["-m", "carryover.tasks.serving.cpu_server", "--model"]
    assert "--port" not in server["command"]


def test_every_cell_has_the_same_instances(study):
    episodes = LandingZone(study.landing).scan("episodes").filter(pl.col("purpose") == "evaluation").collect()
    cells = episodes.group_by("base", "train_contract", "runtime_contract").agg(pl.col("instance_id").sort())
    assert cells.height == 10  # three models and the two scripted teachers, under both runtimes
    assert cells["instance_id"].n_unique() == 1


def test_models_answer_over_http_with_counted_tokens(study):
    episodes = LandingZone(study.landing).scan("episodes").collect()
    is_scripted = pl.col("base") == "teacher"
    assert set(episodes.filter(is_scripted)["token_source"]) == {"training_tokenizer"}
    of_models = episodes.filter(~is_scripted)
    assert of_models.height == 6 * EVALUATION_COUNT
    assert set(of_models["token_source"]) == {"server"}
    assert (of_models["completion_tokens"] > 0).all()


def test_what_has_landed_is_not_played_again(study):
    (part,) = study.plan.parts
    again = collect_teacher(study, make_tokenizer(study, part))
    assert [(one.planned_count, one.played_count) for one in again] == [(TRAIN_COUNT, 0)] * 2


def test_every_episode_was_played_under_a_verified_contract(study):
    episodes = LandingZone(study.landing).scan("episodes").collect()
    assert (episodes["is_contract_verified"] == (episodes["step_count"] > 0)).all()
    assert set(episodes["runtime_contract"]) == {"persistent", "stateless"}


def test_each_contract_mismatch_is_told_and_logged_once(study, told):
    mismatches = [
        f"model {model_folder(study, trained).name} was trained on the {trained} contract, the runtime is {other}"
        for trained, other in (("persistent", "stateless"), ("stateless", "persistent"))
    ]
    assert told == [f"cross-evaluation: {mismatch}" for mismatch in mismatches]
    (log,) = study.folders.logs.glob("serving-*.log")
    warned = [line for line in log.read_text().splitlines() if line.startswith("warning: ")]
    assert warned == [f"warning: {mismatch}" for mismatch in mismatches]


def test_single_model_needs_a_declared_cross_evaluation(study, told):
    (part,) = study.plan.parts
    chosen = ChosenCells(model="persistent-0", runtime_contract=ContractName.STATELESS)
    models = chosen.served(find_models.fn(study, part, make_tokenizer(study, part)))
    assert [model.name for model in models] == ["base", "persistent-0"]
    server = serve_models(study, part, models, tell=told.append, cells=chosen)
    with pytest.raises(ContractMismatchError, match="--is-cross-evaluation"):
        server.__enter__()
