"""Every argument that TRL's trainer gets, from a spec."""

from pathlib import Path

import pytest

from carryover.tasks.sft.trainer import adapter_settings, checkpointing_settings, trainer_settings
from carryover.tasks.sft.training_spec import LINEAR_LAYERS, TRAINING, LoraSpec

OF_EVERY_TRAINING = {
    "output_dir": "/checkpoints",
    "seed": 7,
    "data_seed": 7,
    "per_device_train_batch_size": 1,
    "per_device_eval_batch_size": 1,
    "packing_strategy": "bfd",
    "assistant_only_loss": False,
    "optim": "adamw_torch",
    "adam_beta1": 0.9,
    "weight_decay": 0.01,
    "max_grad_norm": 1.0,
    "warmup_steps": 0.03,
    "logging_steps": 10,
    "logging_nan_inf_filter": False,
    "save_steps": 100,
    "include_num_input_tokens_seen": "non_padding",
    "disable_tqdm": True,
    "report_to": [],
}
PAPER = {
    "num_train_epochs": 3.0,
    "max_steps": -1,
    "gradient_accumulation_steps": 8,
    "fsdp": True,
    "max_length": 16384,
    "packing": True,
    "learning_rate": 1e-4,
    "adam_beta2": 0.999,
    "lr_scheduler_type": "cosine",
    "bf16": True,
    "gradient_checkpointing": True,
    "save_total_limit": 3,
    "eval_strategy": "steps",
    "eval_steps": 100,
}
LAPTOP = {
    "num_train_epochs": 1.0,
    "max_steps": 12,
    "gradient_accumulation_steps": 1,
    "fsdp": False,
    "max_length": None,
    "packing": False,
    "learning_rate": 0.003,
    "adam_beta2": 0.95,
    "lr_scheduler_type": "warmup_stable_decay",
    "bf16": False,
    "gradient_checkpointing": False,
    "gradient_checkpointing_kwargs": None,
    "save_total_limit": 2,
    "eval_strategy": "no",
    "eval_steps": 200,
}


def told(settings, names):
    return {name: getattr(settings, name) for name in names}


def test_arguments_of_the_papers_training_on_two_gpus():
    import torch

    settings = trainer_settings(TRAINING["paper"], Path("/checkpoints"), 7, is_validated=True, gpu_count=2)
    expected = OF_EVERY_TRAINING | PAPER | {"use_cpu": not torch.cuda.is_available()}
    assert told(settings, expected) == expected
    assert settings.gradient_checkpointing_kwargs == checkpointing_settings()


def test_arguments_of_a_training_on_a_laptop():
    spec = TRAINING["laptop_scratch"].model_copy(update={"max_steps": 12})
    expected = OF_EVERY_TRAINING | LAPTOP
    assert told(trainer_settings(spec, Path("/checkpoints"), 7, is_validated=False), expected) == expected


@pytest.mark.parametrize("has_embedding", [True, False])
def test_arguments_of_adapters(has_embedding):
    lora = LoraSpec(rank=4, alpha=9, dropout=0.25, has_trained_embedding=has_embedding)
    settings = adapter_settings(TRAINING["paper"].model_copy(update={"lora": lora}))
    assert settings is not None
    assert (settings.r, settings.lora_alpha, settings.lora_dropout) == (4, 9, 0.25)
    assert settings.target_modules == set(LINEAR_LAYERS)
    assert (settings.task_type, settings.revision) == ("CAUSAL_LM", TRAINING["paper"].base_revision)
    assert settings.modules_to_save == (["embed_tokens"] if has_embedding else None)
    assert settings.ensure_weight_tying == has_embedding


def test_a_training_without_adapters_has_no_arguments_of_any():
    assert adapter_settings(TRAINING["laptop_scratch"]) is None
