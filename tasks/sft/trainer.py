"""TRL's trainer, with batches by length and our optimizer."""

import math
import statistics
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from carryover.tasks.sft.batches import LengthBatches, learned_loss, right_padded
from carryover.tasks.sft.optimizer import muon_with_adamw
from carryover.tasks.sft.prepare import PreparedData
from carryover.tasks.sft.training_spec import TrainingSpec

if TYPE_CHECKING:
    import torch
    from peft import LoraConfig
    from transformers import PreTrainedModel, PreTrainedTokenizerBase, TrainerCallback
    from trl.trainer.sft_config import SFTConfig
    from trl.trainer.sft_trainer import SFTTrainer


def open_trainer(
    spec: TrainingSpec,
    start: "PreTrainedModel",
    tokenizer: "PreTrainedTokenizerBase",
    data: PreparedData,
    *,
    checkpoints: Path,
    seed: int,
    callback: "TrainerCallback",
    gpu_count: int = 1,
) -> "SFTTrainer":
    """Return a spec's trainer, ready to start or to resume.

    Of `gpu_count` processes each takes its share of an optimizer step's sequences.
    """
    import torch
    from torch.distributed.fsdp import MixedPrecisionPolicy
    from transformers.trainer_callback import PrinterCallback, ProgressCallback, TrainerCallback

    class IntervalCallback(TrainerCallback):
        """Replaces the trainer's intervals once the steps are counted.

        No checkpoint is of the last step: the library takes one more behind it wherever a training ends within a pass.
        """

        def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            state.logging_steps, state.save_steps, state.eval_steps = find_intervals(spec, state.max_steps)

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            control.should_save &= state.global_step < state.max_steps

    # On a CPU bitsandbytes repacks NF4 weights for inference, and a training that goes on with them has no gradients.
    can_validate = data.validation is not None and (spec.method != "qlora" or torch.cuda.is_available())
    padding = tokenizer.get_vocab()[str(tokenizer.pad_token or tokenizer.eos_token)]
    trainer = trainer_class(spec, start, data, seed)(
        model=start,
        args=trainer_settings(spec, checkpoints, seed, is_validated=can_validate, gpu_count=gpu_count),
        data_collator=None if spec.batch.packing else right_padded(padding),
        train_dataset=data.train,
        eval_dataset=data.validation,
        processing_class=tokenizer,
        peft_config=adapter_settings(spec),
        callbacks=[IntervalCallback(), callback],
    )
    if spec.method == "qlora":  # TRL gives adapters bfloat16, in which most updates round to nothing
        for parameter in start.parameters():
            if parameter.requires_grad:
                parameter.data = parameter.data.float()
    if trainer.is_fsdp_enabled:  # accelerate's own policy would round gradients and losses to bfloat16
        policy = MixedPrecisionPolicy(param_dtype=getattr(torch, spec.precision), reduce_dtype=torch.float32)
        trainer.accelerator.state.fsdp_plugin.mixed_precision_policy = policy
    trainer.remove_callback(PrinterCallback)
    trainer.remove_callback(ProgressCallback)
    return trainer


def trainer_class(spec: TrainingSpec, start: "PreTrainedModel", data: PreparedData, seed: int) -> "type[SFTTrainer]":
    """Return TRL's trainer with our optimizer, schedule, loss and batches."""
    from torch.utils.data import DataLoader
    from trl.trainer.sft_trainer import SFTTrainer

    measures: dict[str, list[float]] = defaultdict(list)

    class Trainer(SFTTrainer):
        """Overrides the methods that the library documents for it."""

        def create_optimizer(self, model: "torch.nn.Module | None" = None) -> "torch.optim.Optimizer":
            if spec.optimizer.kind == "muon" and self.optimizer is None:
                self.optimizer = muon_with_adamw(start, spec.optimizer)
            return super().create_optimizer(model)

        def create_scheduler(
            self, num_training_steps: int, optimizer: "torch.optim.Optimizer | None" = None
        ) -> "torch.optim.lr_scheduler.LRScheduler":
            if spec.optimizer.schedule == "trapezoid":
                self.args.lr_scheduler_kwargs = {
                    "num_decay_steps": round(num_training_steps * spec.optimizer.decay_ratio),
                    "decay_type": "linear",
                    "min_lr_ratio": spec.optimizer.final_ratio,
                }
            return super().create_scheduler(num_training_steps, optimizer)

        def compute_loss(
            self,
            model: "torch.nn.Module",
            inputs: dict[str, "torch.Tensor | Any"],
            return_outputs: bool = False,
            num_items_in_batch: "torch.Tensor | int | None" = None,
        ) -> Any:
            # The fused head of the library pays off where a vocabulary is large; it scores what is not learned too.
            if spec.batch.packing or return_outputs:
                return super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
            learned = learned_loss(model, inputs, num_items_in_batch)
            prefix = "" if model.training else "eval_"
            measures[f"{prefix}entropy"].append(learned.entropy)
            measures[f"{prefix}mean_token_accuracy"].append(learned.token_accuracy)
            return learned.loss

        def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
            is_training = self.model is None or self.model.training
            named = [name for name in measures if name.startswith("eval_") != is_training]
            super().log(logs | {name: statistics.fmean(measures.pop(name)) for name in named}, start_time)

        def get_train_dataloader(self) -> DataLoader:
            if spec.batch.packing:
                return super().get_train_dataloader()
            rows: Any = data.train
            batches = LengthBatches([len(ids) for ids in rows["input_ids"]], token_budget=spec.batch.tokens, seed=seed)
            return self.accelerator.prepare(DataLoader(rows, batch_sampler=batches, collate_fn=self.data_collator))

    return Trainer


def trainer_settings(
    spec: TrainingSpec, checkpoints: Path, seed: int, *, is_validated: bool, gpu_count: int = 1
) -> "SFTConfig":
    """Return TRL's arguments of a spec.

    Several GPUs keep a shard each of what is not quantized (FSDP); accelerate has no shards on CPUs.
    """
    import torch
    from trl.trainer.sft_config import SFTConfig

    optimizer = spec.optimizer
    batch = spec.batch
    return SFTConfig(
        output_dir=str(checkpoints),
        seed=seed,
        data_seed=seed,
        num_train_epochs=spec.epochs,
        max_steps=spec.max_steps or -1,
        per_device_train_batch_size=batch.sequences,
        per_device_eval_batch_size=1,
        gradient_accumulation_steps=batch.accumulation // gpu_count,
        fsdp=gpu_count > 1,  # pyright: ignore[reportArgumentType]
        max_length=batch.max_length if batch.packing else None,  # nothing is cut: prepare_data refuses longer ones
        packing=batch.packing,
        packing_strategy="bfd",
        assistant_only_loss=False,  # the labels already say what is learned, message by message
        optim="adamw_torch",
        learning_rate=optimizer.learning_rate,
        adam_beta1=optimizer.beta1,
        adam_beta2=optimizer.beta2,
        weight_decay=optimizer.weight_decay,
        max_grad_norm=optimizer.max_gradient_norm,
        lr_scheduler_type="warmup_stable_decay" if optimizer.schedule == "trapezoid" else "cosine",
        warmup_steps=optimizer.warmup_ratio,  # below 1 the library reads a share of all steps
        bf16=spec.precision == "bfloat16",
        tf32=True if torch.cuda.is_available() else None,
        gradient_checkpointing=spec.gradient_checkpointing,
        gradient_checkpointing_kwargs=checkpointing_settings() if spec.gradient_checkpointing else None,
        use_cpu=not torch.cuda.is_available(),
        logging_steps=spec.logging_steps,
        logging_nan_inf_filter=False,  # it would log a mean of earlier losses in place of one that is not finite
        save_steps=spec.save_steps,
        save_total_limit=spec.kept_checkpoints,
        eval_strategy="steps" if is_validated else "no",
        eval_steps=spec.evaluation_steps,
        include_num_input_tokens_seen="non_padding",
        disable_tqdm=True,
        report_to=[],
    )


def adapter_settings(spec: TrainingSpec) -> "LoraConfig | None":
    """Return PEFT's description of a spec's adapters."""
    from peft import LoraConfig

    if spec.lora is None:
        return None
    named = spec.lora.target_modules
    targets = named if isinstance(named, str) else [str(name) for name in named]
    return LoraConfig(
        r=spec.lora.rank,
        lora_alpha=spec.lora.alpha,
        lora_dropout=spec.lora.dropout,
        target_modules=targets,
        modules_to_save=["embed_tokens"] if spec.lora.has_trained_embedding else None,
        ensure_weight_tying=spec.lora.has_trained_embedding,
        task_type="CAUSAL_LM",
        revision=spec.base_revision,
    )


def checkpointing_settings() -> dict[str, Any]:
    """Return checkpointing arguments that recompute all but attention.

    TRL's own `selective` misses flex_attention: inductor shows compiled code to a policy only where it is told to.
    """
    import torch._inductor.config

    torch._inductor.config.wrap_inductor_compiled_regions = True
    return {"use_reentrant": False, "context_fn": keep_attention}


def keep_attention() -> Any:
    """Return the contexts of a layer's forward pass and of its recomputation."""
    from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts

    def policy(_context: Any, operator: Any, *_: Any, **__: Any) -> CheckpointPolicy:
        # parts of the names of attention's operators; the one compiled region in a layer is flex_attention
        is_kept = any(name in str(operator) for name in ("flash_attn", "scaled_dot_product", "inductor_compiled_code"))
        if is_kept:
            return CheckpointPolicy.MUST_SAVE
        return CheckpointPolicy.PREFER_RECOMPUTE

    return create_selective_checkpoint_contexts(policy)


class Intervals(NamedTuple):
    """Optimizer steps between log lines, checkpoints and validations."""

    logging: int
    saving: int
    """A multiple of `logging`, so that a resumed run logs the same averages as an unbroken one."""
    validation: int
    """A multiple of `logging`, so that each loss has a log line."""


def find_intervals(spec: TrainingSpec, step_count: int) -> Intervals:
    """Return the spec's intervals, or shorter ones.

    A kill then loses a quarter of the steps, and ten validations fit in.
    """
    longest = math.ceil(step_count / 4)
    between = max(1, min(spec.evaluation_steps, step_count // 10))
    logging = min(spec.logging_steps, between if spec.validation_share else longest)
    saving = min(spec.save_steps, longest) // logging * logging
    validation = between // logging * logging
    return Intervals(logging, saving, max(logging, validation))
