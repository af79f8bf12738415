import pytest
from pydantic import ValidationError

from carryover.tasks.readers.import_setting import ImportSetting


def setting(**values):
    return ImportSetting(**{"run_id": "run", "runtime_contract": "persistent", **values})


def test_a_teacher_plays_training_instances_and_a_model_the_others():
    assert (setting().episode_split, setting().episode_base) == ("evaluation", "hub")
    teacher = setting(purpose="teacher")
    assert (teacher.episode_split, teacher.episode_base) == ("train", "teacher")
    assert setting(purpose="teacher", split="evaluation").episode_split == "evaluation"


def test_contracts_go_by_our_names():
    assert setting(runtime_contract="reset").runtime_contract == "stateless"
    assert setting(train_contract="Persistent").train_contract == "persistent"


def test_a_base_model_was_trained_under_no_contract():
    assert setting(train_contract=None).train_contract is None


@pytest.mark.parametrize(
    ("values", "declared", "model"),
    [
        ({}, "declared", "declared"),
        ({}, None, "imported"),
        ({"model_name": "given"}, "declared", "given"),
        ({"model_name": "given"}, None, "given"),
    ],
)
def test_a_given_model_name_goes_before_a_declared_one(values, declared, model):
    assert setting(**values).choose_model(declared) == model


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"runtime_contract": "sideways"}, "unknown contract 'sideways'; choose from persistent, stateless"),
        ({"train_contract": "both"}, "unknown contract 'both'"),
        ({"bucket": "medium"}, "unknown bucket 'medium'; choose from easy, hard"),
        ({"plan": "1 plan"}, "bad plan name '1 plan'"),
        ({"purpose": "teacher", "train_contract": "persistent"}, "a teacher has no train contract"),
    ],
)
def test_what_cannot_be_is_refused(values, message):
    with pytest.raises(ValidationError, match=message):
        setting(**values)
