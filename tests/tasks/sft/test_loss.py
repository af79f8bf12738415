"""Our loss and the library's on the same batch."""

import math
from typing import Any

import pytest

from carryover.tasks.services.hub import load_tokenizer
from carryover.tasks.sft.batches import learned_loss, right_padded
from carryover.tasks.sft.load import new_model
from carryover.tasks.sft.prepare import IGNORED, PreparedData
from carryover.tasks.sft.tokenizer import build_tokenizer
from carryover.tasks.sft.trainer import open_trainer
from carryover.tasks.sft.training_log import log_callback
from carryover.tasks.sft.training_spec import TRAINING, ArchitectureSpec, LoraSpec, TokenizerSpec

SHAPE = ArchitectureSpec(hidden_size=32, layer_count=2, head_size=16, intermediate_size=64)
ROWS = [
    {"input_ids": [5, 6, 7, 8, 9], "labels": [IGNORED, IGNORED, 7, 8, IGNORED]},
    {"input_ids": [9, 8, 7], "labels": [IGNORED, 8, 7]},
]
"""Four learned tokens; the second row is padded by two."""


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    return load_tokenizer(build_tokenizer(["a"], TokenizerSpec(vocabulary_size=259), tmp_path_factory.mktemp("t")))


ADAPTER = TRAINING["smoke_common"].model_copy(update={"lora": LoraSpec(rank=4, alpha=8, dropout=0.0)})
WITH_EMBEDDING = LoraSpec(rank=4, alpha=8, dropout=0.0, has_trained_embedding=True)
SPECS = {
    "scratch": TRAINING["smoke"],
    "adapter": ADAPTER,
    "adapter_and_embedding": ADAPTER.model_copy(update={"lora": WITH_EMBEDDING}),
}


@pytest.fixture(params=SPECS)
def trainer(request, tokenizer, tmp_path):
    """The trainer of a whole model, and of an adapter whose weights are no longer those that change nothing."""
    import torch
    from datasets import Dataset

    spec = SPECS[request.param]
    data = PreparedData(Dataset.from_list(ROWS), None, token_count=8, longest=4)
    callback = log_callback(tmp_path / "log.jsonl", None)
    opened = open_trainer(
        spec, new_model(SHAPE, tokenizer, 0), tokenizer, data, checkpoints=tmp_path, seed=0, callback=callback
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        assert opened.model is not None
        for name, parameter in opened.model.named_parameters():
            if "lora_B" in name:
                torch.nn.init.normal_(parameter, std=0.3)
    return opened


@pytest.mark.parametrize("step_count", [None, 10])
def test_the_loss_is_the_librarys_own(trainer, tokenizer, step_count):
    from trl.trainer.sft_trainer import SFTTrainer

    padded = right_padded(tokenizer.pad_token_id)(ROWS)
    batch = {name: each.to(trainer.model.device) for name, each in padded.items()}
    trainer.model.train()
    ours = trainer.compute_loss(trainer.model, dict(batch), num_items_in_batch=step_count)
    trainer.log({})
    theirs = SFTTrainer.compute_loss(trainer, trainer.model, dict(batch), num_items_in_batch=step_count)
    assert ours.item() == pytest.approx(theirs.item(), abs=1e-5)
    trainer.log({})
    logged, expected = trainer.state.log_history
    for name in ("entropy", "mean_token_accuracy"):
        assert logged[name] == pytest.approx(expected[name], abs=1e-5)
    ours.backward()
    gradients = {name: each.grad.clone() for name, each in trainer.model.named_parameters() if each.grad is not None}
    trainer.model.zero_grad()
    theirs.backward()
    assert gradients
    for name, parameter in trainer.model.named_parameters():
        if parameter.grad is not None:
            assert (gradients[name] - parameter.grad).abs().max().item() < 1e-5


def test_an_uninformed_model_loses_the_logarithm_of_its_vocabulary(tokenizer):
    import torch

    model: Any = new_model(SHAPE, tokenizer, 0)
    torch.nn.init.zeros_(model.get_input_embeddings().weight)  # tied: every token is as likely as any other
    batch = right_padded(tokenizer.pad_token_id)(ROWS)
    assert learned_loss(model, batch, None).loss.item() == pytest.approx(math.log(len(tokenizer)), abs=1e-5)
    assert learned_loss(model, batch, None).entropy == pytest.approx(math.log(len(tokenizer)), abs=1e-5)
    assert learned_loss(model, batch, 8).loss.item() == pytest.approx(math.log(len(tokenizer)) / 2, abs=1e-5)
