"""One reinforcement: load, play and update by turns, save."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from carryover.tasks.environment.for_trl import TokenEpisode, environment_reward
from carryover.tasks.reinforcement.passes import short_pass_trainer
from carryover.tasks.reinforcement.reinforcement_spec import Reinforcement, ReinforcementSpec
from carryover.tasks.reinforcement.rollouts import World, play_update, summary
from carryover.tasks.reinforcement.update_log import LOG_NAME, UpdateLog
from carryover.tasks.runtime.contract import named_contract
from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.services.hub import load_tokenizer
from carryover.tasks.sft.folder import CHECKPOINTS, last_checkpoint
from carryover.tasks.sft.load import quiet_libraries, save_model
from carryover.tasks.traces.training_rows import PolicyUpdate

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase, TrainerCallback
    from trl.trainer.grpo_config import GRPOConfig
    from trl.trainer.grpo_trainer import GRPOTrainer


class Reinforced(NamedTuple):
    """Counts of a finished reinforcement."""

    update_count: int
    token_count: int
    """Tokens of all conversations played."""


def reinforce(
    played: Reinforcement, start: str, output: Path, *, seed: int, callback: "TrainerCallback", cpu_threads: int
) -> Reinforced:
    """Reinforce the model in `start` and save it, resuming from checkpoints.

    It ends after the most updates, or once few enough episodes miss a name.
    """
    import torch
    from transformers import AutoModelForCausalLM

    torch.set_num_threads(cpu_threads)
    quiet_libraries()
    tokenizer = load_tokenizer(start)
    model = AutoModelForCausalLM.from_pretrained(start, dtype=torch.float32, attn_implementation="sdpa")
    checkpoints = output / CHECKPOINTS
    log = UpdateLog(output / LOG_NAME)
    runtime = open_runtime(played.runtime)
    contract = named_contract(played.runtime_contract, played.own_contracts)
    try:
        world = World(played.family, played.bucket, contract, runtime)
        trainer = open_grpo(model, tokenizer, played.spec, world, checkpoints=checkpoints, seed=seed, log=log)
        trainer.add_callback(ending(played.spec, log))
        trainer.add_callback(callback)
        trainer.train(resume_from_checkpoint=last_checkpoint(checkpoints))
    finally:
        runtime.close()
    save_model(model, output)
    tokenizer.save_pretrained(output)
    return Reinforced(trainer.state.global_step, trainer.state.num_input_tokens_seen)


def open_grpo(
    model: "PreTrainedModel",
    tokenizer: "PreTrainedTokenizerBase",
    spec: ReinforcementSpec,
    world: World,
    *,
    checkpoints: Path,
    seed: int,
    log: UpdateLog,
) -> "GRPOTrainer":
    """Return TRL's trainer, whose episodes are played by the CPU engine.

    A row's prompt is the seed of an instance: the environment writes the messages.
    """
    from datasets import Dataset
    from transformers.trainer_callback import PrinterCallback

    def roll_out(prompts: Sequence[str], trainer: Any) -> dict[str, list[Any]]:
        update = trainer.state.global_step + 1
        started = time.monotonic()
        seeds = [int(prompt) for prompt in prompts]  # a row's prompt is the seed of its instance
        rolled = play_update(trainer.model, tokenizer, spec, world, seeds=seeds, update=update)
        log.add(summary(update, rolled, time.monotonic() - started))
        episodes = [each.tokens for each in rolled]
        return {field: [getattr(each, field) for each in episodes] for field in TokenEpisode._fields}

    last_seed = spec.first_seed + spec.most_updates * spec.instances_per_update
    rows = Dataset.from_dict({"prompt": [str(each) for each in range(spec.first_seed, last_seed)]})
    trainer = short_pass_trainer()(
        model=model,
        args=_settings(spec, checkpoints, seed),
        train_dataset=rows,
        processing_class=tokenizer,
        reward_funcs=environment_reward,  # pyright: ignore[reportArgumentType]
        rollout_func=roll_out,  # pyright: ignore[reportArgumentType]
    )
    trainer.remove_callback(PrinterCallback)
    return trainer


def ending(spec: ReinforcementSpec, log: UpdateLog) -> "TrainerCallback":
    """Return the callback that ends a training early.

    It also drops the log's lines behind the checkpoint of a resumed training.
    """
    from transformers import TrainerCallback

    class Ending(TrainerCallback):
        """Looks at the episodes of the last updates."""

        def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            log.keep_until(state.global_step)

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            control.should_training_stop |= has_adapted(spec, log.updates)

    return Ending()


def has_adapted(spec: ReinforcementSpec, updates: Sequence[PolicyUpdate]) -> bool:
    """Tell whether few enough episodes of the last updates missed a name."""
    judged = updates[-spec.judged_updates :]
    if len(updates) < max(spec.least_updates, spec.judged_updates):
        return False
    return sum(each.missed_share for each in judged) / len(judged) <= spec.missed_share


def _settings(spec: ReinforcementSpec, checkpoints: Path, seed: int) -> "GRPOConfig":
    """Return TRL's arguments: one optimizer step per update."""
    from trl.trainer.grpo_config import GRPOConfig

    return GRPOConfig(
        output_dir=str(checkpoints),
        seed=seed,
        max_steps=spec.most_updates,
        per_device_train_batch_size=spec.sequences_per_pass,
        gradient_accumulation_steps=spec.episodes_per_update // spec.sequences_per_pass,
        num_generations=spec.episodes_per_instance,
        temperature=spec.temperature,
        max_completion_length=spec.max_episode_tokens,
        learning_rate=spec.learning_rate,
        lr_scheduler_type="constant",
        adam_beta2=spec.beta2,
        weight_decay=0.0,
        logging_steps=1,
        save_steps=spec.save_updates,
        save_total_limit=2,
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
        disable_tqdm=True,
        report_to=[],
    )
