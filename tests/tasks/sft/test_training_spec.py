"""The presets of a training and what a spec refuses."""

import pytest
from pydantic import ValidationError

from carryover.tasks.sft.load import four_bit_settings
from carryover.tasks.sft.trainer import trainer_settings
from carryover.tasks.sft.training_spec import TRAINING, ArchitectureSpec, BatchSpec, TrainingSpec


def test_the_paper_preset_is_appendix_c2():
    spec = TRAINING["paper"]
    assert (spec.base_model, spec.method, spec.precision) == ("Qwen/Qwen3-8B", "qlora", "bfloat16")
    assert spec.lora is not None
    assert (spec.lora.rank, spec.lora.alpha, spec.lora.dropout) == (64, 128, 0.05)
    assert {name.removesuffix("_proj") for name in spec.lora.target_modules} == {
        "q", "k", "v", "o", "gate", "up", "down",
    }  # fmt: skip
    assert (spec.epochs, spec.optimizer.kind, spec.optimizer.schedule) == (3, "adamw", "cosine")
    assert (spec.optimizer.learning_rate, spec.optimizer.warmup_ratio, spec.optimizer.weight_decay) == (
        1e-4,
        0.03,
        0.01,
    )
    assert (spec.batch.max_length, spec.batch.packing) == (16384, True)
    assert (spec.batch.sequences, spec.batch.accumulation) == (1, 16)
    assert (spec.logging_steps, spec.save_steps, spec.evaluation_steps, spec.kept_checkpoints) == (10, 100, 100, 3)
    assert (spec.validation_share, spec.gradient_checkpointing) == (0.05, True)


@pytest.mark.slow
def test_the_papers_base_is_nf4_with_double_quantization():
    settings = four_bit_settings().to_dict()
    assert {name: settings[name] for name in settings if name.startswith("bnb_4bit") and "storage" not in name} == {
        "bnb_4bit_quant_type": "nf4",
        "bnb_4bit_use_double_quant": True,
        "bnb_4bit_compute_dtype": "bfloat16",
    }
    assert settings["load_in_4bit"]


@pytest.mark.slow
def test_the_trainer_is_told_what_the_paper_preset_says(tmp_path):
    told = trainer_settings(TRAINING["paper"], tmp_path, 3407, is_validated=True)
    assert (told.seed, told.data_seed, told.optim, told.lr_scheduler_type) == (3407, 3407, "adamw_torch", "cosine")
    assert (told.learning_rate, told.warmup_steps, told.weight_decay) == (1e-4, 0.03, 0.01)
    assert (told.adam_beta1, told.adam_beta2, told.max_grad_norm) == (0.9, 0.999, 1.0)
    assert (told.max_length, told.packing, told.bf16, told.gradient_checkpointing) == (16384, True, True, True)
    assert (told.eval_strategy, told.eval_steps, told.save_steps, told.save_total_limit) == ("steps", 100, 100, 3)


def test_every_preset_survives_json():
    for spec in TRAINING.values():
        assert TrainingSpec.model_validate_json(spec.model_dump_json()) == spec


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"architecture": None}, "architecture is missing for base 'scratch'"),
        ({"base": "common", "tokenizer": None}, "architecture is given but unused"),
        ({"method": "lora"}, "lora is missing"),
        ({"base": "hub", "architecture": None, "tokenizer": None}, "needs base_model"),
        ({"save_steps": 15}, "save_steps 15 is not a multiple of logging_steps 10"),
        ({"validation_share": 1.0}, "validation_share 1.0 is not in"),
    ],
)
def test_a_setting_that_cannot_work_is_named(change, message):
    with pytest.raises(ValidationError, match=message):
        TrainingSpec.model_validate(TRAINING["laptop_scratch"].model_dump() | change)


def _with(change):
    fields = TRAINING["paper"].model_dump()
    for path, value in change.items():
        *parents, name = path.split(".")
        owner = fields
        for parent in parents:
            owner = owner[parent]
        owner[name] = value
    return fields


@pytest.mark.parametrize(
    "change",
    [
        {"lora.target_modules": ("query",)},
        {"lora.target_modules": ()},
        {"lora.rank": 0},
        {"lora.alpha": 0},
        {"lora.dropout": 1.0},
        {"batch.sequences": 0},
        {"batch.accumulation": 0},
        {"batch.max_length": 0},
        {"batch.tokens": 0},
        {"epochs": 0.0},
        {"max_steps": 0},
        {"logging_steps": 0},
        {"save_steps": 0},
        {"evaluation_steps": 0},
        {"kept_checkpoints": 0},
        {"cpu_threads": 0},
        {"optimizer.learning_rate": 0.0},
        {"optimizer.matrix_learning_rate": 0.0},
        {"optimizer.warmup_ratio": 1.0},
        {"optimizer.beta1": 1.0},
        {"optimizer.beta2": 1.0},
        {"optimizer.weight_decay": -0.1},
        {"optimizer.max_gradient_norm": 0.0},
        {"optimizer.final_ratio": 1.1},
        {"optimizer.schedule": "trapezoid", "optimizer.warmup_ratio": 0.6},
    ],
    ids=str,
)
def test_an_impossible_training_number_is_refused_with_the_plan(change):
    TrainingSpec.model_validate(_with({}))
    with pytest.raises(ValidationError) as caught:
        TrainingSpec.model_validate(_with(change))
    assert caught.value.errors()[0]["loc"][:1] == (next(iter(change)).split(".")[0],)


def test_an_adapter_on_random_weights_is_not_offered():
    with pytest.raises(ValidationError, match="learns nothing"):
        TrainingSpec.model_validate(
            TRAINING["laptop_scratch"].model_dump() | {"method": "lora", "lora": TRAINING["paper"].lora}
        )


def test_heads_fill_the_width():
    with pytest.raises(ValidationError, match="hidden_size 100 is not a multiple of head_size 32"):
        ArchitectureSpec(hidden_size=100)


def test_the_paper_s_base_is_one_commit():
    assert len(TRAINING["paper"].base_revision or "") == 40


@pytest.mark.parametrize(("packing", "tokens"), [(True, 2048), (False, 3500)])
def test_tokens_per_pass_are_full_sequences_or_the_budget(packing, tokens):
    batch = BatchSpec(max_length=1024, packing=packing, sequences=2, tokens=3500)
    assert batch.tokens_per_pass == tokens
