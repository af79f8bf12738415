"""What tells the shards of a study apart, and what their episodes share."""

import json
from pathlib import Path

import pytest

from carryover.tasks.agent.client import EndpointClientSpec, ScriptedClientSpec
from carryover.tasks.plans.identity import Stage
from carryover.tasks.plans.models import StudyModel
from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits, Run
from carryover.tasks.plans.shards import evaluation_shards, script_shards, teacher_shards, tokenizer_identity
from carryover.tasks.serving.serving_spec import ServingSpec
from tests.tasks.plans.test_pretrained import CONFIG


def run_of(scale="smoke", *, refresh=(), **overrides):
    plan = resolve_plan(scale, Overrides(**overrides))
    limits = Limits(refresh=refresh)
    return Run(run_id="r", plan=plan, home=Path("/d"), landing="/d/landing", generation="g", limits=limits)


RUN = run_of()
PART = RUN.plan.parts[0]
BASE = StudyModel(name="base", kind="base", path="/base", identity="a")
TRAINED = StudyModel(
    name="persistent-0", kind="checkpoint", path="/p", identity="b", train_contract="persistent", training_seed=0
)


def served_shards(run=RUN, base=BASE, serving=None):
    part = run.plan.parts[0]
    models = [base, TRAINED]
    return evaluation_shards(run, part, part.evaluations[0], models, base_url="http://h/v1", serving=serving)


@pytest.mark.parametrize(
    "change",
    [
        {"stage_digest": "another"},
        {"condition": teacher_shards(RUN, PART, None)[1].condition},
        {"instances": PART.train_instances.model_copy(update={"count": 99})},
        {"replicates": 2},
        {"first_replicate": 1},
    ],
    ids=lambda change: next(iter(change)),
)
def test_an_identity_tells_what_decides_the_result(change):
    shard = teacher_shards(RUN, PART, None)[0]
    assert shard.model_copy(update=change).identity != shard.identity


def test_an_identity_leaves_out_how_it_is_played():
    shard = teacher_shards(RUN, PART, None)[0]
    assert shard.model_copy(update={"is_billed": True, "maximum_attempts": 9}).identity == shard.identity


def test_shards_are_named_by_their_conditions():
    names = ["base-on-persistent", "base-on-stateless", "persistent-0-on-persistent", "persistent-0-on-stateless"]
    assert [shard.name for shard in served_shards()] == [f"main-scratch-{name}-small-declared-names" for name in names]


def test_episodes_of_a_shard_have_ids_of_their_own():
    shard, other, *_ = served_shards()
    changed = shard.model_copy(update={"stage_digest": "another"})
    places = (("i", 0, 0), ("j", 0, 0), ("i", 1, 0), ("i", 0, 1))
    ids = [each.episode_id(*place) for each in (shard, other, changed) for place in places]
    assert len(set(ids)) == 12
    assert shard.episode_id("i", 0, 0) == ids[0]


def test_a_run_knows_its_folders_and_where_its_results_hold():
    assert (RUN.folders.home, RUN.folders.landing) == (Path("/d"), "/d/landing")
    assert RUN.cache_identity == {"landing": "/d/landing", "generation": "g"}


def test_teachers_play_the_training_instances_once_per_contract(tmp_path):
    (tmp_path / "tokenizer.json").write_text("{}")
    shards = teacher_shards(RUN, PART, tmp_path)
    assert [shard.condition.runtime_contract for shard in shards] == [*PART.teacher.contracts]
    assert {shard.stage for shard in shards} == {Stage.TRACES}
    assert all(shard.instances == PART.train_instances for shard in shards)
    assert all(shard.episode == PART.teacher.episode for shard in shards)
    assert {shard.maximum_attempts for shard in shards} == {PART.teacher.maximum_attempts}
    assert {shard.tokenizer for shard in shards} == {tmp_path}
    assert all(isinstance(shard.client, ScriptedClientSpec) for shard in shards)
    assert shards[0].stage_digest != teacher_shards(RUN, PART, None)[0].stage_digest


def test_an_endpoints_replies_are_kept_and_asked_anew_on_refresh(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    asked = {"base_model": str(tmp_path), "teacher_url": "http://host/v1", "teacher_model": "m"}
    for refresh, is_anew in (((), False), ((Stage.TRAINING,), False), ((Stage.TRACES,), True)):
        run = run_of("pretrained", refresh=refresh, device="cpu", **asked)
        clients = [shard.client for shard in teacher_shards(run, run.plan.parts[0], None)]
        for client in clients:
            assert isinstance(client, EndpointClientSpec)
            assert (client.cache, client.asks_anew) == (Path("/d/teacher_responses"), is_anew)


def test_served_models_are_asked_as_the_serving_says():
    serving = ServingSpec(engine="external", url="http://h/v1", api_key_variable="KEY", max_concurrent=7)
    shards = served_shards(serving=serving)
    assert {shard.stage for shard in shards} == {Stage.EVALUATION}
    assert {shard.replicates for shard in shards} == {PART.evaluations[0].replicates}
    for shard in shards:
        assert isinstance(shard.client, EndpointClientSpec)
        assert shard.client.cache is None
        endpoint = shard.client.endpoint
        assert (endpoint.base_url, endpoint.api_key_variable, endpoint.concurrency) == ("http://h/v1", "KEY", 7)
    assert [shard.is_billed for shard in shards] == [True] * len(shards)
    assert not any(shard.is_billed for shard in served_shards())


def test_concurrency_alone_makes_no_other_episodes():
    digests = {served_shards()[0].stage_digest}
    slower = RUN.plan.serving.model_copy(update={"max_concurrent": 1})
    assert {served_shards(serving=slower)[0].stage_digest} == digests
    elsewhere = RUN.plan.serving.model_copy(update={"engine": "external", "url": "http://h/v1"})
    assert served_shards(serving=elsewhere)[0].stage_digest not in digests
    assert served_shards(base=BASE.model_copy(update={"identity": "other"}))[0].stage_digest not in digests


@pytest.mark.parametrize("source", [None, "another"])
def test_episodes_of_another_source_of_the_family_are_others(source):
    instances = PART.train_instances.model_copy(update={"family_source": "one"})
    other = PART.train_instances.model_copy(update={"family_source": source})
    parts = [PART.model_copy(update={"train_instances": each}) for each in (instances, other)]
    first, second = (teacher_shards(RUN, part, None)[0].stage_digest for part in parts)
    assert first != second


def test_scripts_play_every_evaluation_as_often_as_models():
    shards = script_shards(RUN, PART, None)
    contracts = PART.evaluations[0].runtime_contracts
    played = [one for one in PART.evaluations if one.has_scripted_rows]
    assert len(shards) == len(played) * len(PART.teacher.contracts) * len(contracts)
    assert {shard.stage for shard in shards} == {Stage.TRACES}
    assert all(shard.instances in [one.instances for one in played] for shard in shards)
    assert all(one.instances in [shard.instances for shard in shards] for one in played)
    assert {shard.replicates for shard in shards} == {one.replicates for one in played}


def test_a_tokenizers_identity_is_the_content_of_its_files(tmp_path):
    assert tokenizer_identity(PART, None) == "none"
    (tmp_path / "tokenizer.json").write_text("{}")
    first = tokenizer_identity(PART, tmp_path)
    (tmp_path / "model.safetensors").write_text("weights")
    assert tokenizer_identity(PART, tmp_path) == first
    (tmp_path / "tokenizer.json").write_text("{ }")
    second = tokenizer_identity(PART, tmp_path)
    (tmp_path / "chat_template.jinja").write_text("")
    assert len({first, second, tokenizer_identity(PART, tmp_path)}) == 3
