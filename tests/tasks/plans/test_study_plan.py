import pytest

from carryover.tasks.plans.laptop_full import laptop_part
from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.study_plan import StudyPart, StudyPlan, teacher_conditions


def test_examples_beyond_max_length_are_refused_with_the_plan():
    fields = dict(laptop_part())
    fields["dataset"] = fields["dataset"].model_copy(update={"maximum_sequence_tokens": 8193})
    with pytest.raises(ValueError, match=r"8193 is beyond the training.s batch\.max_length 8192"):
        StudyPart(**fields)


def test_training_seeds_that_repeat_are_refused_with_the_plan():
    with pytest.raises(ValueError, match=r"training_seeds \(1, 1\) name a seed twice"):
        StudyPart(**{**dict(laptop_part()), "training_seeds": (1, 1)})


@pytest.mark.parametrize(
    ("training", "message"),
    [
        ({"method": "full", "lora": None}, "not whole models; choose training method lora or qlora"),
        ({"lora": {"rank": 128}}, r"training\.lora\.rank 128 is beyond serving\.max_lora_rank 64"),
        ({"lora": {"has_trained_embedding": True}}, "no adapter with an embedding of its own"),
    ],
)
def test_a_model_that_vllm_cannot_serve_is_refused_before_training(training, message):
    plan = resolve_plan("paper").model_dump()
    plan["parts"][0]["training"] |= training
    with pytest.raises(ValueError, match=message):
        StudyPlan.model_validate(plan)
    plan["serving"] |= {"engine": "cpu"}
    StudyPlan.model_validate(plan)


def test_teacher_conditions_bear_the_variant_of_their_part():
    part = laptop_part().model_copy(update={"variant": "other"})
    assert {condition.variant for condition in teacher_conditions(part)} == {"other"}


def test_endpoints_that_are_given_bill_their_tokens():
    billed = {"teacher": True, "evaluation": False}
    plan = resolve_plan("smoke")
    assert {purpose: plan.is_billed(purpose) for purpose in ("teacher", "evaluation")} == billed
    elsewhere = resolve_plan("smoke", Overrides(endpoint_url="http://127.0.0.1:9/v1"))
    assert elsewhere.is_billed("evaluation")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "endpoint"}, "a teacher of kind 'endpoint' with endpoint None: kind 'endpoint' needs one"),
        ({"endpoint": {"base_url": "http://h/v1"}}, "a teacher of kind 'scripted' with endpoint .*: .* others none"),
    ],
)
def test_an_endpoint_belongs_to_its_kind_of_teacher(change, message):
    plan = resolve_plan("smoke").model_dump()
    plan["parts"][0]["teacher"] |= change
    with pytest.raises(ValueError, match=message):
        StudyPlan.model_validate(plan)


def test_a_pretrained_plan_without_a_model_bears_its_base():
    plan = resolve_plan("smoke").model_copy(update={"scale": "pretrained"})
    assert plan.label == "pretrained, scratch"
