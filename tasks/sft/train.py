"""One fine-tuning, top to bottom: load, prepare, train, save (arXiv 2603.01209, appendix C.2)."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, cast

from carryover.tasks.datasets.conversations import Conversation, digest_of_file, read_conversations
from carryover.tasks.running.errors import UserError
from carryover.tasks.running.frozen_model import FrozenModel
from carryover.tasks.running.hub import expanded
from carryover.tasks.sft.card import CARD_NAME, ModelCard, read_card, write_card
from carryover.tasks.sft.folder import CHECKPOINTS, claim, digest_of_tensors, held, last_checkpoint, start_digests
from carryover.tasks.sft.load import load_start, quiet_libraries
from carryover.tasks.sft.prepare import prepare_data
from carryover.tasks.sft.resources import check_room, find_shape, seconds_per_token, telling_of_memory
from carryover.tasks.sft.spec import TrainingSpec
from carryover.tasks.sft.trainer import open_trainer
from carryover.tasks.sft.training_log import LOG_NAME, DivergedError, OnLog, log_callback, read_log

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class TrainingJob(FrozenModel):
    """What one training is made of."""

    spec: TrainingSpec
    dataset: Path
    """JSONL of conversations."""
    output: Path
    """Folder of the model; a finished training of the same inputs there is returned as it is."""
    contract: str | None
    """Contract of the training traces; none for a base."""
    seed: int
    """Seed of weights, data order, dropout and the validation split."""
    base_model: str | None = None
    """What to start from instead of `spec.base_model`; required for a `common` base."""
    tokenizer: Path | None = None
    """Tokenizer's folder; required for `scratch`, other bases bring theirs."""
    plan_digest: str | None = None
    """For the card."""


class TrainedModel(ModelCard):
    """A finished training: its card, and where it lies."""

    path: Path
    """Folder with the weights or the adapter, tokenizer, chat template, card, log and kept checkpoints."""


def train(job: TrainingJob, on_log: OnLog | None = None) -> TrainedModel:
    """Train one model or adapter and save it; a killed training goes on from its last checkpoint.

    `on_log` is told of every logging step.

    Raises:
        UserError: Data, base, disk or memory do not fit, or `output` holds another training.
        DivergedError: Loss, gradients or weights are not finite; nothing finished is left.
    """
    spec, output = job.spec, job.output
    start = job.tokenizer if spec.base == "scratch" else job.base_model or spec.base_model
    if start is None and spec.base == "scratch":
        raise UserError(f"training {spec.name} starts from scratch and needs a tokenizer; build one first")
    if start is None:
        raise UserError(f"training {spec.name} adapts a base of our own and needs base_model; train the base first")
    source = expanded(str(start))
    conversations = read_conversations(job.dataset)
    identity = job.model_dump(mode="json", include={"spec", "contract", "seed"}, exclude={"spec": {"base_model"}})
    identity |= {"dataset": digest_of_file(job.dataset), "start": start_digests(source)}
    with held(output):
        claim(output, identity)
        if not (output / CARD_NAME).exists():
            write_card(output, _train_held(job, conversations, source, on_log))
        return read_trained(output)


def _train_held(job: TrainingJob, conversations: list[Conversation], source: str, on_log: OnLog | None) -> ModelCard:
    """Train in a folder that is this process's own, save the model, and return its card."""
    import torch  # takes seconds, so what can be refused without it has been

    spec, output, started_at = job.spec, job.output, datetime.now(UTC)
    quiet_libraries()
    check_room(spec, source, output)
    has_gpu = torch.cuda.is_available()
    if not has_gpu:
        torch.set_num_threads(spec.cpu_threads)
    device = torch.cuda.get_device_name() if has_gpu else "cpu"

    model, processing = load_start(spec, source, job.seed)
    data = prepare_data(
        conversations,
        processing,
        max_length=spec.batch.max_length,
        validation_share=spec.validation_share,
        seed=job.seed,
    )
    shape, mean_length = find_shape(spec, source), data.token_count / len(data.train)
    peak = None if shape is None else seconds_per_token(spec, shape, mean_length, device)
    callback = log_callback(output / LOG_NAME, on_log, peak)
    checkpoints = output / CHECKPOINTS
    trainer = open_trainer(spec, model, processing, data, checkpoints=checkpoints, seed=job.seed, callback=callback)
    with telling_of_memory(spec):
        trainer.train(resume_from_checkpoint=last_checkpoint(checkpoints))
    trained = cast("PreTrainedModel", trainer.model)
    if not all(parameter.isfinite().all() for parameter in trained.parameters() if parameter.requires_grad):
        raise DivergedError("weights are not finite", trainer.state.global_step, spec.optimizer.learning_rate, output)
    trained.save_pretrained(output)
    processing.save_pretrained(output)

    metrics = tuple(read_log(output / LOG_NAME))
    return ModelCard(
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
        device=device,
        attention=model.config._attn_implementation,
        wall_seconds=metrics[-1].wall_seconds,
        started_at=started_at,
        metrics=metrics,
    )


def read_trained(folder: Path) -> TrainedModel:
    """Return the finished training in a folder."""
    return TrainedModel(path=folder, **dict(read_card(folder)))
