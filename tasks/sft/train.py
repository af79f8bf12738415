"""One fine-tuning: load, prepare, train, save (appendix C.2)."""

import os
from collections.abc import Callable
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, cast

from pydantic import Field

from carryover.tasks.datasets.conversations import read_conversations
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.frozen_model import FrozenModel
from carryover.tasks.services.hub import expanded
from carryover.tasks.services.whole_files import digest_of_file
from carryover.tasks.sft.card import CARD_NAME, ModelCard, read_card, write_card
from carryover.tasks.sft.determinism import watched_operations
from carryover.tasks.sft.folder import CHECKPOINTS, claim, digest_of_tensors, held, last_checkpoint, start_digests
from carryover.tasks.sft.load import load_start_model, load_start_tokenizer, quiet_libraries, save_model
from carryover.tasks.sft.prepare import prepare_data
from carryover.tasks.sft.resources import check_room, check_shares, find_shape, seconds_per_token, telling_of_memory
from carryover.tasks.sft.trainer import open_trainer
from carryover.tasks.sft.training_log import LOG_NAME, DivergedError, OnLog, log_callback, read_log
from carryover.tasks.sft.training_spec import TrainingSpec

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class TrainingJob(FrozenModel):
    """Inputs of one training."""

    spec: TrainingSpec
    dataset: Path
    """JSONL of conversations."""
    output: Path
    """Folder of the model; a finished training of the same inputs there is returned as it is."""
    contract: str | None
    """Contract of the training traces; None for a base."""
    seed: int
    """Seed of weights, data order, dropout and the validation split."""
    base_model: str | None = None
    """Start instead of `spec.base_model`; required for a `common` base."""
    tokenizer: Path | None = None
    """Tokenizer's folder; required for `scratch`, other bases bring theirs."""
    plan_digest: str | None = None
    """For the card."""
    gpu_count: int = Field(default=1, gt=0)
    """GPUs that share the training, with a process each; without a GPU, processes."""
    trainings_per_gpu: int = Field(default=1, gt=0)
    """Trainings that may share a GPU with it, itself included."""


class TrainedModel(ModelCard):
    """A finished training: its card, and where it lies."""

    path: Path
    """Folder with the weights or the adapter, tokenizer, chat template, card, log and kept checkpoints."""


def train(
    job: TrainingJob, on_log: OnLog | None = None, compute: Callable[[TrainingJob], None] | None = None
) -> TrainedModel:
    """Train and save one model or adapter, resuming from checkpoints.

    `on_log` is told of every logging step. `compute` trains in the folder and writes the card; default: `compute_here`.
    Raise `UserError` where data, base, disk or memory do not fit, or `output` holds another training; `DivergedError`,
    which leaves nothing finished, where loss, gradients or weights are not finite.
    """
    output = job.output
    source = _find_start(job)
    check_shares(job.spec, job.gpu_count)
    read_conversations(job.dataset)
    identity = job.model_dump(
        mode="json", include={"spec", "contract", "seed"}, exclude={"spec": {"base_model", "base_title"}}
    )
    identity |= {"dataset": digest_of_file(job.dataset), "start": start_digests(source)}
    if job.gpu_count > 1:  # its checkpoints hold what no other number of processes takes up
        identity |= {"gpu_count": job.gpu_count}
    with held(output):
        claim(output, identity)
        if not (output / CARD_NAME).exists():
            compute(job) if compute else compute_here(job, on_log)
        return read_trained(output)


def _find_start(job: TrainingJob) -> str:
    """Return a training's tokenizer folder, and its base's folder or id."""
    spec = job.spec
    start = job.tokenizer if spec.base == "scratch" else job.base_model or spec.base_model
    if start is None and spec.base == "scratch":
        raise UserError(f"training {spec.name} starts from scratch and needs a tokenizer; build one first")
    if start is None:
        raise UserError(f"training {spec.name} adapts a base of our own and needs base_model; train the base first")
    return expanded(str(start))


def compute_here(job: TrainingJob, on_log: OnLog | None = None) -> None:
    """Train in a held folder, save the model and its card.

    Where `accelerate launch` started several processes, each calls this; the first of them alone writes.
    """
    spec = job.spec
    output = job.output
    gpu_count = job.gpu_count
    started_at = datetime.now(UTC)
    source = _find_start(job)
    conversations = read_conversations(job.dataset)
    device = _choose_device(spec)
    quiet_libraries()

    processing = load_start_tokenizer(spec, source)
    data = prepare_data(
        conversations,
        processing,
        max_length=spec.batch.max_length,
        validation_share=spec.validation_share,
        seed=job.seed,
    )
    check_room(spec, source, output, gpu_count, longest=data.longest)
    model = load_start_model(spec, source, processing, job.seed)
    shape = find_shape(spec, source)
    mean_length = data.token_count / len(data.train)
    peak = None if shape is None else seconds_per_token(spec, shape, mean_length, device)
    callback = log_callback(output / LOG_NAME, on_log, peak and peak / gpu_count)
    checkpoints = output / CHECKPOINTS
    trainer = open_trainer(
        spec, model, processing, data, checkpoints=checkpoints, seed=job.seed, callback=callback, gpu_count=gpu_count
    )
    watched = nullcontext(None) if device == "cpu" else watched_operations()
    with telling_of_memory(spec), watched as varying:
        trainer.train(resume_from_checkpoint=last_checkpoint(checkpoints))
    trained = cast("PreTrainedModel", trainer.model)
    if not _is_finite(trained):
        raise DivergedError("weights are not finite", trainer.state.global_step, spec.optimizer.learning_rate, output)
    tensors = trainer.accelerator.get_state_dict(trained)  # every process adds its shards
    if not trainer.is_world_process_zero():
        return
    save_model(trained, output, state_dict=tensors)
    processing.save_pretrained(output)

    metrics = tuple(read_log(output / LOG_NAME))
    card = ModelCard(
        **job.model_dump(include={"contract", "seed", "plan_digest"}),
        spec=spec,
        kind="checkpoint" if spec.method == "full" else "adapter",
        base_model="untrained" if spec.base == "scratch" else source,
        dataset_digest=digest_of_file(job.dataset),
        example_count=len(data.train),
        model_digest=digest_of_tensors(output),
        parameter_count=trained.num_parameters(),
        trained_parameter_count=trained.num_parameters(only_trainable=True),
        token_count=trainer.state.num_input_tokens_seen,
        step_count=trainer.state.global_step,
        final_loss=metrics[-1].loss,
        validation_loss=metrics[-1].validation_loss,
        device=device if gpu_count == 1 else f"{gpu_count} x {device}",
        attention=model.config._attn_implementation,
        varying_operations=None if varying is None else tuple(varying),
        wall_seconds=metrics[-1].wall_seconds,
        started_at=started_at,
        metrics=metrics,
    )
    write_card(output, card)


def _is_finite(model: "PreTrainedModel") -> bool:
    """Tell whether every trained weight is a number."""
    return all(parameter.isfinite().all() for parameter in model.parameters() if parameter.requires_grad)


def _choose_device(spec: TrainingSpec) -> str:
    """Return the device that this process computes on."""
    import torch  # takes seconds, so what can be refused without it has been

    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
        return torch.cuda.get_device_name()
    torch.set_num_threads(spec.cpu_threads)
    return "cpu"


def read_trained(folder: Path) -> TrainedModel:
    """Return the finished training in a folder."""
    return TrainedModel(path=folder, **dict(read_card(folder)))
