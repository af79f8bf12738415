"""One fine-tuning, top to bottom: load, prepare, train, save (arXiv 2603.01209, appendix C.2)."""

import math
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from carryover.tasks.datasets.conversations import Conversation, digest_of_file, read_conversations
from carryover.tasks.running.errors import UserError
from carryover.tasks.running.hub import expanded
from carryover.tasks.sft.card import CARD_NAME, ModelCard, read_card, write_card
from carryover.tasks.sft.folder import CHECKPOINTS, claim, digest_of_tensors, held, last_checkpoint, start_digests
from carryover.tasks.sft.load import load_start, quiet_libraries
from carryover.tasks.sft.prepare import prepare_data
from carryover.tasks.sft.resources import check_room, find_shape, seconds_per_token, telling_of_memory
from carryover.tasks.sft.spec import TrainingSpec
from carryover.tasks.sft.trainer import can_validate, open_trainer, train_to_the_end
from carryover.tasks.sft.training_log import LOG_NAME, DivergedError, OnLog, log_callback, read_log

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class TrainedModel(ModelCard):
    """A finished training: its card, and where it lies."""

    path: Path
    """Folder with the weights or the adapter, tokenizer, chat template, card, log and kept checkpoints."""


def train(
    spec: TrainingSpec,
    dataset: Path,
    output: Path,
    *,
    contract: str | None,
    seed: int,
    base_model: str | Path | None = None,
    tokenizer: Path | None = None,
    plan_digest: str | None = None,
    on_log: OnLog | None = None,
) -> TrainedModel:
    """Train one model or adapter and save it; a killed training goes on from its last checkpoint.

    Args:
        spec: What to train, and how.
        dataset: JSONL of conversations.
        output: Folder of the model; a finished training of the same inputs there is returned as it is.
        contract: Contract of the training traces; none for a base.
        seed: Seed of weights, data order, dropout and the validation split.
        base_model: What to start from instead of `spec.base_model`; required for a `common` base.
        tokenizer: Tokenizer's folder; required for `scratch`, other bases bring theirs.
        plan_digest: For the card.
        on_log: Told of every logging step.

    Raises:
        UserError: Data, base, disk or memory do not fit, or `output` holds another training.
        DivergedError: Loss, gradients or weights are not finite; nothing finished is left.
    """
    start = tokenizer if spec.base == "scratch" else base_model or spec.base_model
    if start is None and spec.base == "scratch":
        raise UserError(f"training {spec.name} starts from scratch and needs a tokenizer; build one first")
    if start is None:
        raise UserError(f"training {spec.name} adapts a base of our own and needs base_model; train the base first")
    source = expanded(str(start))
    conversations = read_conversations(dataset)
    identity = {"contract": contract, "dataset": digest_of_file(dataset), "seed": seed, "start": start_digests(source)}
    with held(output):
        claim(output, {"spec": spec.model_dump(mode="json", exclude={"base_model"}), **identity})
        if not (output / CARD_NAME).exists():
            said = {"spec": spec, "contract": contract, "seed": seed, "plan_digest": plan_digest}
            said |= {"dataset_digest": identity["dataset"], "started_at": datetime.now(UTC)}
            measured = _train_held(spec, conversations, source, output, seed=seed, on_log=on_log)
            write_card(output, ModelCard.model_validate(said | measured))
        return read_trained(output)


def _train_held(
    spec: TrainingSpec, conversations: list[Conversation], source: str, output: Path, *, seed: int, on_log: OnLog | None
) -> dict[str, Any]:
    """Train in a folder that is this process's own, save the model, and return what its card says of the outcome."""
    import torch  # takes seconds, so what can be refused without it has been

    quiet_libraries()
    check_room(spec, source, output)
    has_gpu = torch.cuda.is_available()
    if not has_gpu:
        torch.set_num_threads(spec.cpu_threads)
    device = torch.cuda.get_device_name() if has_gpu else "cpu"

    model, processing = load_start(spec, source, seed)
    share = {"max_length": spec.batch.max_length, "validation_share": spec.validation_share}
    data = prepare_data(conversations, processing, **share, seed=seed)
    shape, mean_length = find_shape(spec, source), data.token_count / len(data.train)
    peak = None if shape is None else seconds_per_token(spec, shape, mean_length, device)
    callback = log_callback(output / LOG_NAME, on_log, peak)
    checkpoints = output / CHECKPOINTS
    trainer = open_trainer(spec, model, processing, data, checkpoints=checkpoints, seed=seed, callback=callback)
    with telling_of_memory(spec):
        train_to_the_end(trainer, last_checkpoint(checkpoints))
    trained = cast("PreTrainedModel", trainer.model)
    if not all(parameter.isfinite().all() for parameter in trained.parameters() if parameter.requires_grad):
        raise DivergedError("weights are not finite", trainer.state.global_step, spec.optimizer.learning_rate, output)
    validation_loss = trainer.evaluate()["eval_loss"] if can_validate(spec, data) else None
    trained.save_pretrained(output)
    processing.save_pretrained(output)

    metrics = read_log(output / LOG_NAME)
    states = [(parameter, getattr(parameter, "quant_state", None)) for parameter in trained.parameters()]
    # A four-bit tensor tells how many numbers it packs.
    counts = [parameter.numel() if state is None else math.prod(state.shape) for parameter, state in states]
    return {
        "kind": "checkpoint" if spec.method == "full" else "adapter",
        "base_model": "untrained" if spec.base == "scratch" else source,
        "example_count": len(data.train),
        "model_digest": digest_of_tensors(output),
        "parameter_count": sum(counts),
        "trained_parameter_count": sum(c for p, c in zip(trained.parameters(), counts, strict=True) if p.requires_grad),
        "token_count": trainer.state.num_input_tokens_seen,
        "step_count": trainer.state.global_step,
        "final_loss": metrics[-1].loss,
        "validation_loss": validation_loss,
        "device": device,
        "attention": model.config._attn_implementation,
        "wall_seconds": metrics[-1].wall_seconds,
        "metrics": tuple(metrics),
    }


def read_trained(folder: Path) -> TrainedModel:
    """Return the finished training in a folder."""
    return TrainedModel(path=folder, **dict(read_card(folder)))
