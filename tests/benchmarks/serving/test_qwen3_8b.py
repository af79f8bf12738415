"""Training and serving at the paper's true size, on a GPU: Qwen3-8B's configuration with random weights.

No weights are needed from anywhere: the configuration is written here, the tokenizer is our own. Random weights say
nothing about a study's numbers, but they take the memory and the time of trained ones. Run with `pytest -m gpu -s`.
"""

import json
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from tasks.serving.server import open_server
from tasks.serving.spec import ServedModels, ServingSpec
from tasks.sft.conversations import Conversation, TrainingMessage, write_conversations
from tasks.sft.spec import TRAINING, TokenizerSpec
from tasks.sft.tokenizer import build_tokenizer
from tasks.sft.train import TrainedModel, train
from tests.benchmarks.serving.test_tokens_per_second import OBSERVATION, serve_at_once

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(3600)]

QWEN3_8B = {
    "model_type": "qwen3",
    "architectures": ["Qwen3ForCausalLM"],
    "hidden_size": 4096,
    "intermediate_size": 12288,
    "num_hidden_layers": 36,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "vocab_size": 151936,
    "max_position_embeddings": 40960,
    "rope_theta": 1000000,
    "rms_norm_eps": 1e-6,
    "tie_word_embeddings": False,
    "dtype": "bfloat16",
    "eos_token_id": 2,
    "pad_token_id": 0,
}
"""The published configuration, with the control tokens of our own tokenizer."""
PARAMETERS = 8.19e9
STEPS = 4
"""Optimizer steps; the first ones of a run compile and allocate."""
PEAK_BFLOAT16_FLOPS = 989e12
"""Dense peak of an H100 SXM; another GPU needs its own number."""


@pytest.fixture(scope="module")
def base_path(tmp_path_factory):
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA GPU")
    folder = build_tokenizer([OBSERVATION] * 20, TokenizerSpec(), tmp_path_factory.mktemp("models") / "base")
    (folder / "config.json").write_text(json.dumps(QWEN3_8B))
    with torch.device("cuda"):
        model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(folder), dtype=torch.bfloat16)
    model.save_pretrained(folder)
    del model
    torch.cuda.empty_cache()
    return folder


@pytest.fixture(scope="module")
def adapters(base_path, tmp_path_factory) -> dict[str, TrainedModel]:
    """One rank-64 adapter per contract, trained for some steps of packed 16k sequences."""
    folder = tmp_path_factory.mktemp("adapters")
    dataset = write_dataset(folder / "dataset.jsonl")
    spec = TRAINING["paper"].model_copy(
        update={"max_steps": STEPS, "validation_share": 0.0, "logging_steps": 1, "save_steps": STEPS}
    )
    return {
        contract: train(spec, dataset, folder / contract, contract=contract, seed=0, base_model=base_path)
        for contract in ("persistent", "stateless")
    }


def write_dataset(path: Path) -> Path:
    """Conversations of some 5k tokens, enough to pack every sequence of every step."""
    turn = (
        TrainingMessage(role="user", content=OBSERVATION * 4),
        TrainingMessage(role="assistant", content=OBSERVATION * 4),
    )
    write_conversations(path, [Conversation(messages=turn * 12) for _ in range(STEPS * 16 * 4)])
    return path


def test_qlora_trains_on_packed_sequences_of_16k_tokens(adapters):
    import torch

    first, last = adapters["persistent"].metrics[0], adapters["persistent"].metrics[-1]
    rate = (last.token_count - first.token_count) / (last.wall_seconds - first.wall_seconds)
    # Forward 2, backward to the activations 2, recomputation 2: frozen weights have no gradient of their own.
    utilization = rate * 6 * PARAMETERS / PEAK_BFLOAT16_FLOPS
    print(
        f"\ntraining: {rate:.0f} tokens/s, peak memory {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB, "
        f"model-flops utilisation {utilization:.0%} of {PEAK_BFLOAT16_FLOPS / 1e12:.0f} TFLOP/s"
    )
    assert last.token_count > first.token_count


@pytest.mark.skipif(find_spec("vllm") is None, reason="needs the extra gpu")
def test_vllm_serves_both_adapters(base_path, adapters, tmp_path):
    import asyncio

    models = ServedModels(base=str(base_path), adapters={name: model.path for name, model in adapters.items()})
    spec = ServingSpec(engine="vllm", max_concurrent=32)
    started = time.monotonic()
    with open_server(spec, models, tmp_path / "vllm.log", on_progress=lambda _: None) as server:
        print(f"\nvllm ready after {time.monotonic() - started:.0f} s: {' '.join(server.command)}")
        for concurrency in (1, 4, 32):
            measured = asyncio.run(serve_at_once(server.base_url, concurrency, models=tuple(adapters), episodes=32))
            print(f"{measured.label}: {measured.rate:.0f} tokens/s, {3600 * 32 / measured.seconds:.0f} episodes/hour")
