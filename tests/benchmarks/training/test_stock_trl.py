"""Our batches, loss and optimizer beside stock TRL on the same conversations, at laptop size.

Processor time is compared within a round; held-out losses are of models with the same first weights.
"""

import statistics
import time
from typing import Any

import pytest

from carryover.tasks.datasets.conversations import read_conversations
from carryover.tasks.datasets.plain_corpus import write_plain_corpus
from carryover.tasks.services.hub import load_tokenizer
from carryover.tasks.sft.batches import learned_loss, right_padded
from carryover.tasks.sft.load import new_model
from carryover.tasks.sft.optimizer import muon_with_adamw
from carryover.tasks.sft.prepare import prepare_data
from carryover.tasks.sft.tokenizer import build_tokenizer
from carryover.tasks.sft.trainer import open_trainer
from carryover.tasks.sft.training_log import log_callback
from carryover.tasks.sft.training_spec import TRAINING, TokenizerSpec
from tests.tasks.sft.training import message_texts

SPEC = TRAINING["laptop_base"]
SEQUENCES = 13
"""Conversations of a batch of stock TRL: as many tokens as ours, on average."""
ROUNDS = 3
REQUIRED_GAIN = 1.2


def _data(folder):
    write_plain_corpus(folder / "data.jsonl", "small", range(900))
    conversations = read_conversations(folder / "data.jsonl")
    texts = message_texts(conversations)
    tokenizer = load_tokenizer(build_tokenizer(texts, TokenizerSpec(), folder / "tokenizer"))
    return tokenizer, prepare_data(conversations, tokenizer, max_length=8192, validation_share=0.04, seed=0)


def _measure(trainer, data) -> tuple[float, float]:
    """Train and return processor seconds and the mean loss per held-out token."""
    import torch

    started = time.process_time()
    trainer.train()
    seconds = time.process_time() - started
    model, losses, count = trainer.model.eval(), 0.0, 0
    with torch.no_grad():
        for row in data.validation:
            learned = sum(label >= 0 for label in row["labels"][1:])
            losses += learned * learned_loss(model, right_padded(0)([row]), None).loss.item()
            count += learned
    return seconds, losses / count


def _ours(tokenizer, data, folder):
    folder.mkdir()
    spec = SPEC.model_copy(update={"validation_share": 0.0})
    assert spec.architecture is not None
    callback = log_callback(folder / "log.jsonl", None)
    model = new_model(spec.architecture, tokenizer, 0)
    trained = data._replace(validation=None)
    return _measure(open_trainer(spec, model, tokenizer, trained, checkpoints=folder, seed=0, callback=callback), data)


def _stock(tokenizer, data, folder, *, is_muon: bool):
    """TRL as it comes: its loss, its `group_by_length` and AdamW, or Muon in its place."""
    from trl.trainer.sft_config import SFTConfig
    from trl.trainer.sft_trainer import SFTTrainer

    assert SPEC.architecture is not None
    model: Any = new_model(SPEC.architecture, tokenizer, 0)
    steps = len(data.train) // SEQUENCES
    arguments: dict[str, Any] = {
        "num_train_epochs": 1, "per_device_train_batch_size": SEQUENCES, "max_length": None, "learning_rate": 3e-3,
        "adam_beta2": 0.95, "lr_scheduler_type": "warmup_stable_decay", "warmup_steps": 0.03, "bf16": False,
        "lr_scheduler_kwargs": {"num_decay_steps": steps // 2, "decay_type": "linear", "min_lr_ratio": 0.03},
        "gradient_checkpointing": False, "use_cpu": True, "report_to": [], "disable_tqdm": True,
        "save_strategy": "no", "train_sampling_strategy": "group_by_length",
    }  # fmt: skip
    config = SFTConfig(output_dir=str(folder), seed=0, data_seed=0, **arguments)
    optimizers: Any = (muon_with_adamw(model, SPEC.optimizer) if is_muon else None, None)
    trainer = SFTTrainer(
        model=model, args=config, train_dataset=data.train, processing_class=tokenizer, optimizers=optimizers
    )
    return _measure(trainer, data)


@pytest.mark.benchmark
@pytest.mark.timeout(1800)
def test_batches_save_a_fifth_of_time_and_muon_of_loss(tmp_path, keep_figure):
    import torch

    torch.set_num_threads(1)
    tokenizer, data = _data(tmp_path)
    gains, losses = [], []
    for number in range(ROUNDS):
        ours = _ours(tokenizer, data, tmp_path / f"ours-{number}")
        muon, adamw = (_stock(tokenizer, data, tmp_path / f"stock-{number}", is_muon=each) for each in (True, False))
        gains.append(muon[0] / ours[0])
        losses.append(adamw[1] / muon[1])
        for name, (seconds, loss) in (("ours", ours), ("stock with Muon", muon), ("stock", adamw)):
            print(f"{name}: {data.token_count / seconds:,.0f} tokens per CPU second, held-out loss {loss:.3f}")
    what = "gain of length batches and the learned loss over stock TRL, tokens per CPU second"
    keep_figure(what, statistics.median(gains), "times", at_least=REQUIRED_GAIN)
    keep_figure("gain of Muon over AdamW, held-out loss", statistics.median(losses), "times", at_least=REQUIRED_GAIN)
    assert statistics.median(gains) >= REQUIRED_GAIN
    assert statistics.median(losses) >= REQUIRED_GAIN
