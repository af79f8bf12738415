"""The paper's training on a GPU: the true Qwen3-8B configuration with random weights, NF4, LoRA 64, 16k packing."""

import random
import time
from pathlib import Path

import pytest

from tasks.sft.conversations import Conversation, TrainingMessage, write_conversations
from tasks.sft.dry_run import GPU_GIB
from tasks.sft.load import attention
from tasks.sft.model_shape import KNOWN_SHAPES
from tasks.sft.resources import GIB, estimate_resources
from tasks.sft.spec import TRAINING, TokenizerSpec
from tasks.sft.tokenizer import build_tokenizer, load_tokenizer
from tasks.sft.train import train
from tests.benchmarks.gpu import QWEN3_ROPE, peak_flops, utilisation_in_words

STEPS = 4
CONVERSATIONS = 320
"""Of some 4,600 tokens, as the persistent traces of Table 5: four optimizer steps of 262k tokens."""
WORDS = ["the", "budget", "leaves", "room", "for", "more", "items", "so", "inspect", "another", "part", "of", "it"]


def _conversations() -> list[Conversation]:
    draw = random.Random(0)

    def text(words: int) -> str:
        return " ".join(draw.choices(WORDS, k=words))

    def exchange() -> list[TrainingMessage]:
        return [TrainingMessage(role="user", content=text(350)), TrainingMessage(role="assistant", content=text(400))]

    return [
        Conversation(messages=tuple(message for _ in range(6) for message in exchange())) for _ in range(CONVERSATIONS)
    ]


def _random_base(tokenizer_path: Path, folder: Path) -> None:
    """Save random weights of Qwen3-8B's shape in bfloat16: 16 GB."""
    import torch
    from transformers import Qwen3ForCausalLM

    config = KNOWN_SHAPES["Qwen/Qwen3-8B"].configuration(dtype="bfloat16", rope_parameters=QWEN3_ROPE)
    torch.set_default_dtype(torch.bfloat16)
    try:
        with torch.device("cuda"):
            model = Qwen3ForCausalLM(config)
    finally:
        torch.set_default_dtype(torch.float32)
    model.save_pretrained(folder)
    load_tokenizer(tokenizer_path).save_pretrained(folder)
    del model
    torch.cuda.empty_cache()


@pytest.mark.gpu
@pytest.mark.benchmark
@pytest.mark.timeout(3600)
def test_tokens_per_second_memory_and_utilisation(tmp_path):
    import torch

    conversations = _conversations()
    write_conversations(tmp_path / "data.jsonl", conversations)
    texts = [message.content for message in conversations[0].messages]
    build_tokenizer(texts, TokenizerSpec(vocabulary_size=400), tmp_path / "tokenizer")
    _random_base(tmp_path / "tokenizer", tmp_path / "base")
    paper = TRAINING["paper"]
    changes = {
        "base_model": str(tmp_path / "base"), "max_steps": STEPS, "logging_steps": 1, "save_steps": 100,
        "validation_share": 0.0,
    }  # fmt: skip
    torch.cuda.reset_peak_memory_stats()
    started = time.monotonic()
    adapter = train(
        paper.model_copy(update=changes), tmp_path / "data.jsonl", tmp_path / "adapter", contract="persistent", seed=0
    )
    first, last = adapter.metrics[0], adapter.metrics[-1]  # the first step warms up
    rate = (last.token_count - first.token_count) / (last.wall_seconds - first.wall_seconds)
    base_parameters = adapter.parameter_count - adapter.trained_parameter_count
    # forward, and backward to the activations: 2 operations each per parameter of the base; what is recomputed to save
    # memory is no work of the model's
    utilisation = utilisation_in_words(4 * base_parameters * rate, peak_flops(adapter.device))
    memory = torch.cuda.max_memory_allocated()
    print(
        f"\n{adapter.device}, {attention()}: {rate:,.0f} tokens/s, peak {memory / GIB:.1f} GiB, {utilisation}, "
        f"loss {first.loss:.2f} to {last.loss:.2f}, {time.monotonic() - started:.0f} s with loading"
    )
    assert adapter.trained_parameter_count == 174_587_904
    assert (first.optimizer_step, last.optimizer_step) == (1, STEPS)
    assert last.token_count > 0.6 * STEPS * paper.batch.accumulation * paper.batch.max_length  # well filled sequences
    assert last.loss < first.loss
    estimate = estimate_resources(paper, KNOWN_SHAPES["Qwen/Qwen3-8B"])
    assert estimate.weight_bytes < memory < GPU_GIB * GIB
