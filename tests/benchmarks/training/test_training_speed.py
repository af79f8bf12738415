"""Tokens per CPU second of a laptop training, beside a bare PyTorch loop on the same batches."""

import itertools
import random
import statistics
import time
from pathlib import Path

import pytest

from carryover.tasks.datasets.conversations import Conversation, TrainingMessage
from carryover.tasks.services.hub import load_tokenizer
from carryover.tasks.sft.load import new_model
from carryover.tasks.sft.optimizer import muon_with_adamw
from carryover.tasks.sft.prepare import IGNORED, prepare_data
from carryover.tasks.sft.tokenizer import build_tokenizer
from carryover.tasks.sft.trainer import open_trainer
from carryover.tasks.sft.training_log import log_callback
from carryover.tasks.sft.training_spec import TRAINING, BatchSpec, TokenizerSpec
from tests.flattening import flat
from tests.tasks.sft.training import message_texts

STEPS = 40
ROUNDS = 3
REQUIRED_RATIO = 0.8
"""Of the bare loop's tokens per processor second, at least."""
CODE = """```python
import json
items = {}
for i in json.loads(list_items()):
    try: d = json.loads(inspect(i))
    except RuntimeError: break
    items[i] = (d['weight'], d['value'], d['class'])
print(state, items)
```"""
BY_LENGTH = TRAINING["laptop_scratch"].model_copy(update={"max_steps": STEPS, "validation_share": 0.0})
PACKED = BY_LENGTH.model_copy(update={"batch": BatchSpec(max_length=4096, packing=True, accumulation=1)})
SPECS = {"by length": BY_LENGTH, "packed": PACKED}
"""Batches of conversations of like length, as a laptop's training has them, and packed ones, as the paper's."""


def _conversations() -> list[Conversation]:
    """Conversations as long as laptop traces: about 600 to 2,200 tokens, 55 % of them replies."""
    draw = random.Random(0)
    conversations = []
    for _ in range(200):
        messages = [TrainingMessage(role="system", content="Each turn: one short sentence, then one python block.")]
        for _ in range(draw.randint(4, 12)):
            numbers = {f"item_{draw.randint(10, 99)}": draw.randint(5, 99) for _ in range(draw.randint(3, 12))}
            messages += [
                TrainingMessage(role="user", content=f'{{"output": "{numbers}", "active_globals": ["items", "look"]}}'),
                TrainingMessage(role="assistant", content=f"I look at more.\n{CODE}"),
            ]
        conversations.append(Conversation(messages=tuple(messages)))
    return conversations


def _open(spec, tokenizer, data, folder: Path):
    assert spec.architecture is not None
    model = new_model(spec.architecture, tokenizer, 0)
    folder.mkdir()
    callback = log_callback(folder / "log.jsonl", None)
    return model, open_trainer(spec, model, tokenizer, data, checkpoints=folder, seed=0, callback=callback)


def _bare_loop(spec, tokenizer, data, folder: Path) -> float:
    """Train by hand on the batches of a trainer that does nothing else, and return CPU seconds."""
    import torch

    model, trainer = _open(spec, tokenizer, data, folder)
    optimizer, batches = muon_with_adamw(model, spec.optimizer), trainer.get_train_dataloader()
    started, step = time.process_time(), 0
    while step < STEPS:
        for batch in itertools.islice(batches, STEPS - step):
            places = {name: batch[name] for name in ("input_ids", "position_ids") if name in batch}
            hidden = model.model(**places, use_cache=False).last_hidden_state[:, :-1]
            labels = batch["labels"][:, 1:]
            learned = labels != IGNORED
            torch.nn.functional.cross_entropy(model.lm_head(hidden[learned]), labels[learned]).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            step += 1
    return time.process_time() - started


def _trainer(spec, tokenizer, data, folder: Path) -> tuple[float, int]:
    """Train with the product's trainer, its log included, and return CPU seconds and tokens seen."""
    _, trainer = _open(spec, tokenizer, data, folder)
    started = time.process_time()
    trainer.train()
    return time.process_time() - started, trainer.state.num_input_tokens_seen


@pytest.mark.benchmark
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", SPECS)
def test_training_reaches_four_fifths_of_a_bare_loops_speed(tmp_path, name, keep_figure):
    import torch

    torch.set_num_threads(1)
    spec, conversations = SPECS[name], _conversations()
    texts = message_texts(conversations)
    tokenizer = load_tokenizer(build_tokenizer(texts, TokenizerSpec(), tmp_path / "tokenizer"))
    data = prepare_data(conversations, tokenizer, max_length=spec.batch.max_length, validation_share=0.0, seed=0)
    learned = sum(label >= 0 for label in flat(data.train["labels"]))
    ratios = []
    for number in range(ROUNDS):
        bare = _bare_loop(spec, tokenizer, data, tmp_path / f"bare-{number}")
        ours, tokens = _trainer(spec, tokenizer, data, tmp_path / f"ours-{number}")
        ratios.append(bare / ours)
        print(
            f"\n{name}, {STEPS} steps, {tokens:,} tokens ({learned / data.token_count:.0%} learned): "
            f"trainer {tokens / ours:,.0f} tokens per CPU second, bare loop {tokens / bare:,.0f}: {bare / ours:.2f}x"
        )
    ratio = statistics.median(ratios)
    keep_figure(f"training tokens per CPU second over a bare loop's: {name}", ratio, at_least=REQUIRED_RATIO)
    assert ratio >= REQUIRED_RATIO
