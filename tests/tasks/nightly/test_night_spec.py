import pytest
from pydantic import ValidationError

from carryover.tasks.agent.condition import Condition
from carryover.tasks.nightly.night_spec import NightObject, study_variant
from carryover.tasks.plans.presets import PLANS
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.shards import ShardSpec

(PART,) = resolve_plan("smoke").parts


def test_other_seeds_are_a_series_of_their_own():
    nights = [NightObject.model_validate({"seeds": seeds}) for seeds in (0, 1)]
    assert [night.series for night in nights] == ["reevaluation", "reevaluation-seeds-1"]


def test_every_plan_has_a_variant_that_a_night_plays():
    variants = {name: study_variant(resolve_plan(name)) for name in PLANS}
    injected = dict.fromkeys(("smoke_injected", "laptop_injected", "paper_injected"), "four-contracts")
    control = {"laptop_injected_control": "four-contracts-shuffled"}
    doses = {"laptop_batches": "batch-1", "laptop_mixture": "mixture-0", "laptop_lifetimes": "lifetimes"}
    assert variants == dict.fromkeys(PLANS, "main") | injected | control | doses


@pytest.mark.parametrize("field", ["endpoint_model", "endpoint_key_variable"])
def test_what_belongs_to_no_endpoint_is_refused(field):
    with pytest.raises(ValidationError, match=f"{field} 'x' requires endpoint_url"):
        NightObject.model_validate({field: "x"})


def test_any_model_behind_an_endpoint_plays_instead_of_the_studys():
    night = NightObject(endpoint_url="http://127.0.0.1:1/v1", endpoint_model="qwen")
    (evaluation,) = night.part(PART).evaluations
    assert (evaluation.has_base_rows, evaluation.has_trained_rows, evaluation.has_scripted_rows) == (True, False, False)
    assert night.part(PART).base == "endpoint"
    model = night.model()
    assert model is not None
    assert model.name == "qwen"
    serving = night.serving(resolve_plan("smoke").serving)
    assert (serving.engine, serving.url) == ("external", "http://127.0.0.1:1/v1")


@pytest.mark.parametrize("scale", ["smoke", "laptop", "laptop_full", "paper"])
def test_an_endpoint_plays_each_cell_under_the_rules_of_trained_models(scale):
    """An untrained base of `laptop` plays two turns: its episodes and those of 24 turns would be one cell."""
    (part, *_) = resolve_plan(scale).parts
    night = NightObject(endpoint_url="http://127.0.0.1:9/v1", endpoint_model="m")
    played = night.part(part).evaluations
    trained = [each for each in part.evaluations if each.variant is None and each.has_trained_rows]
    assert [(each.instances, each.episode) for each in played] == [(each.instances, each.episode) for each in trained]
    assert all(each.has_base_rows and not each.has_trained_rows for each in played)


def test_a_night_plays_the_study_without_arms_of_other_rules():
    (evaluation,) = PART.evaluations
    arm = evaluation.model_copy(update={"variant": "cap-80"})
    part = PART.model_copy(update={"evaluations": (evaluation, arm)})
    assert NightObject().part(part) == PART
    assert NightObject().model() is None
    serving = resolve_plan("smoke").serving
    assert NightObject().serving(serving) == serving


def test_a_shard_is_played_in_the_nights_series():
    condition = Condition(
        purpose="evaluation", model_name="m", runtime_contract="persistent", bucket="small", split="evaluation"
    )
    shard = ShardSpec.model_construct(condition=condition, replicates=3, first_replicate=0)
    played = NightObject(seeds=2).shard(shard)
    assert (played.condition.variant, played.first_replicate) == ("reevaluation-seeds-2", 6)
    assert NightObject().shard(shard).first_replicate == 0


def test_an_endpoints_model_is_known_by_its_name_and_address():
    model = NightObject(endpoint_url="http://127.0.0.1:1/v1", endpoint_model="qwen").model()
    assert model is not None
    assert (model.kind, model.path, model.identity) == ("base", "", "qwen at http://127.0.0.1:1/v1")


def test_a_key_belongs_to_the_endpoint_that_is_asked():
    night = NightObject(endpoint_url="http://127.0.0.1:1/v1", endpoint_key_variable="KEY")
    assert night.serving(resolve_plan("smoke").serving).api_key_variable == "KEY"
