"""Presets of training and shapes of models, whole."""

import pytest

from carryover.tasks.sft.model_shape import KNOWN_SHAPES
from carryover.tasks.sft.training_spec import (
    TRAINING,
    ArchitectureSpec,
    BatchSpec,
    LoraSpec,
    OptimizerSpec,
    TokenizerSpec,
    TrainingSpec,
)
from tests.presets import as_kept, constraints, kept_presets

DECLARED = {
    **{
        f"constraints of {spec.__name__}": constraints(spec)
        for spec in (TokenizerSpec, ArchitectureSpec, LoraSpec, OptimizerSpec, BatchSpec, TrainingSpec)
    },
    **TRAINING,
    "tokenizer": TokenizerSpec(),
    "architecture": ArchitectureSpec(),
    "lora": LoraSpec(),
    "optimizer": OptimizerSpec(),
    "batch": BatchSpec(),
    "shapes": {name: shape._asdict() for name, shape in KNOWN_SHAPES.items()},
}


@pytest.mark.parametrize("name", DECLARED)
def test_presets_are_the_kept_ones(name):
    assert as_kept({name: DECLARED[name]})[name] == kept_presets(__file__)[name]
