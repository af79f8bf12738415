"""A study's own cross-evaluation as the load on a server: random models of a given shape, the flow that evaluates them,
and what its landed episodes tell of the server's speed.
"""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import polars as pl

from carryover.flows.cli.machine.prefect_server import prefect_server
from carryover.flows.evaluate_models import evaluate_models
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.agent.episode_spec import EpisodeSpec
from carryover.tasks.generate import provide_instances
from carryover.tasks.plans.identity import Stage
from carryover.tasks.plans.models import training_name
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits
from carryover.tasks.plans.study_plan import EvaluationSpec, InstanceSetSpec, StudyPlan
from carryover.tasks.services.hub import load_tokenizer
from carryover.tasks.serving.serving_spec import ServingSpec
from carryover.tasks.sft.card import ModelCard, write_card
from carryover.tasks.sft.model_shape import ModelShape
from carryover.tasks.sft.tokenizer import END_OF_TURN, PADDING, build_tokenizer
from carryover.tasks.sft.training_spec import LoraSpec, TokenizerSpec
from carryover.tasks.stages.runs import start_run
from carryover.tasks.stages.stage_results import note_stage
from carryover.tasks.train import TrainedFolder
from tests.benchmarks.gpu import QWEN3_ROPE, utilisation_in_words

TEXT = "Inspect the items, keep a running weight, and pack what is worth most: inspect(item_id), take_item(item_id)."
CELLS = 6
"""Base and two adapters, each under both contracts."""


class Speed(NamedTuple):
    """What the episodes of a cross-evaluation took, all cells together."""

    concurrency: int
    episode_count: int
    completion_tokens: int
    processed_tokens: int
    """Tokens that went through the model: what was written, and what was read and not cached."""
    seconds: float
    """From the start of the first episode to the end of the last."""

    @property
    def written_per_second(self) -> float:
        """Tokens that the models wrote in a second."""
        return self.completion_tokens / self.seconds

    def line(self, parameter_count: int, peak_flops: float | None) -> str:
        """Return the speed in words; a token costs two operations per parameter."""
        operations = 2 * parameter_count * self.processed_tokens / self.seconds
        return (
            f"{self.concurrency} at a time: {self.written_per_second:,.0f} tokens/s written, "
            f"{self.processed_tokens / self.seconds:,.0f} processed, {utilisation_in_words(operations, peak_flops)}, "
            f"{3600 * self.episode_count / self.seconds:,.0f} episodes/hour"
        )


def plan_load(base: Path, serving: ServingSpec, instances: InstanceSetSpec, episode: EpisodeSpec) -> StudyPlan:
    """Return the paper's plan with another base, server and evaluation."""
    paper = resolve_plan("paper")
    part = paper.parts[0]
    changes = {
        "training": part.training.model_copy(update={"base_model": str(base)}),
        "evaluations": (EvaluationSpec(instances=instances, episode=episode),),
    }
    return paper.model_copy(update={"serving": serving, "scale": "smoke", "parts": (part.model_copy(update=changes),)})


def cross_evaluate(plan: StudyPlan, adapters: dict[str, Path]) -> tuple[Speed, pl.DataFrame]:
    """Evaluate the adapters and their base by the study's flow; return its speed and the episodes that landed."""
    with prefect_server(), start_run("measure_serving", plan, Limits()) as run:
        (part,) = plan.parts
        for evaluation in part.evaluations:
            provide_instances(run, evaluation.instances)
        for contract, adapter in adapters.items():
            name = training_name(part, contract, part.training_seeds[0])
            note_stage(run, Stage.TRAINING, name, "measured", TrainedFolder(path=adapter, digest=name))
        evaluate_models(run_id=run.run_id)
    episodes = LandingZone(run.landing).scan("episodes").filter(pl.col("plan_digest") == plan.digest).collect()
    ended = episodes["started_at"] + pl.Series(episodes["wall_seconds"] * 1e6).cast(pl.Duration("us"))
    read, written = episodes.select(
        (pl.col("prompt_tokens") - pl.col("cached_prompt_tokens")).sum(), pl.col("completion_tokens").sum()
    ).row(0)
    first, last = episodes["started_at"].min(), ended.max()
    assert isinstance(first, datetime)
    assert isinstance(last, datetime)
    seconds = (last - first).total_seconds()
    return Speed(plan.serving.max_concurrent, episodes.height, written, read + written, seconds), episodes


def save_base(folder: Path, shape: ModelShape, *, has_weights: bool) -> Path:
    """Save a base of a shape with our own tokenizer: its configuration, and random weights where they are wanted."""
    from transformers import AutoModelForCausalLM

    build_tokenizer([TEXT] * 20, TokenizerSpec(vocabulary_size=400), folder)
    tokens = load_tokenizer(folder).get_vocab()
    config = shape.configuration(
        architectures=["Qwen3ForCausalLM"],
        bos_token_id=None,
        eos_token_id=tokens[END_OF_TURN],
        pad_token_id=tokens[PADDING],
        dtype="bfloat16",
        rope_parameters=QWEN3_ROPE,
    )
    if has_weights:
        AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    else:
        config.save_pretrained(folder)
    return folder


def save_adapter(folder: Path, base: Path, shape: ModelShape, lora: LoraSpec, contract: str) -> Path:
    """Save a LoRA of random numbers on a base of a shape, as a training of a contract would leave it."""
    import torch
    from safetensors.torch import save_file

    folder.mkdir()
    tensors = {}
    for layer in range(shape.layer_count):
        for name in lora.target_modules:
            rows, columns = shape.module_sizes[name]
            owner = "self_attn" if name in ("q_proj", "k_proj", "v_proj", "o_proj") else "mlp"
            prefix = f"base_model.model.model.layers.{layer}.{owner}.{name}"
            tensors[f"{prefix}.lora_A.weight"] = torch.randn(lora.rank, columns, dtype=torch.bfloat16) / 100
            tensors[f"{prefix}.lora_B.weight"] = torch.randn(rows, lora.rank, dtype=torch.bfloat16) / 100
    save_file(tensors, folder / "adapter_model.safetensors")
    settings = {
        "peft_type": "LORA", "task_type": "CAUSAL_LM", "base_model_name_or_path": str(base), "r": lora.rank,
        "lora_alpha": lora.alpha, "lora_dropout": lora.dropout, "target_modules": list(lora.target_modules),
        "bias": "none", "inference_mode": True,
    }  # fmt: skip
    (folder / "adapter_config.json").write_text(json.dumps(settings))
    load_tokenizer(base).save_pretrained(folder)
    plan = resolve_plan("paper")
    count = shape.adapter_parameter_count(lora)
    write_card(
        folder,
        ModelCard(
            contract=contract, kind="adapter", base_model=str(base), spec=plan.parts[0].training, seed=0,
            plan_digest=None, dataset_digest="none", example_count=0, model_digest="random",
            parameter_count=shape.parameter_count + count, trained_parameter_count=count, token_count=0, step_count=0,
            final_loss=0.0, validation_loss=None, device="none", attention="none", wall_seconds=0.0,
            started_at=datetime.now(UTC),
            metrics=(),
        ),
    )  # fmt: skip
    return folder
