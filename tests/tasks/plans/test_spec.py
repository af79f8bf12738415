import pytest

from tasks.plans.laptop_full import laptop_part
from tasks.plans.spec import StudyPart


def test_examples_longer_than_the_training_takes_are_refused_with_the_plan():
    fields = dict(laptop_part())
    fields["dataset"] = fields["dataset"].model_copy(update={"maximum_sequence_tokens": 8193})
    with pytest.raises(ValueError, match=r"8193 is beyond the training.s batch\.max_length 8192"):
        StudyPart(**fields)


def test_training_seeds_that_repeat_are_refused_with_the_plan():
    with pytest.raises(ValueError, match=r"training_seeds \(1, 1\) name a seed twice"):
        StudyPart(**{**dict(laptop_part()), "training_seeds": (1, 1)})
