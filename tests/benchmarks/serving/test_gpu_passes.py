"""On a GPU our server attends many short rows in one product: what that gives."""

import time

import pytest

from carryover.tasks.serving.cpu.cache import CacheShape, KeyValueCache
from carryover.tasks.serving.cpu.models import ATTENTION_NAME, module_forward, register_ragged_attention
from carryover.tasks.serving.cpu.ragged import BatchRow

pytestmark = [pytest.mark.benchmark, pytest.mark.gpu]
SHAPE = CacheShape(layer_count=30, head_count=3, head_dim=64, device="cuda")
"""That of SmolLM2-135M."""
CONVERSATIONS = 80
PASSES = 5


@pytest.fixture(scope="module")
def model():
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        hidden_size=576,
        intermediate_size=1536,
        num_hidden_layers=SHAPE.layer_count,
        num_attention_heads=9,
        num_key_value_heads=SHAPE.head_count,
        vocab_size=49152,
        max_position_embeddings=8192,
    )
    register_ragged_attention()
    config._attn_implementation = ATTENTION_NAME
    torch.manual_seed(0)
    return LlamaForCausalLM(config).eval().requires_grad_(False)


def test_rows_together_are_faster_than_one_by_one(model, monkeypatch):
    forward = module_forward(model.to("cuda"))
    seconds = {}
    for way, devices in {"together": ("cuda",), "one by one": ()}.items():
        monkeypatch.setattr("carryover.tasks.serving.cpu.ragged.TOGETHER_ON", devices)
        caches = [KeyValueCache(SHAPE) for _ in range(CONVERSATIONS)]
        forward([BatchRow(cache, list(range(10, 1510))) for cache in caches])
        forward([BatchRow(cache, [1, 2, 3, 4], 4) for cache in caches]).argmax(-1).tolist()
        started = time.perf_counter()
        for _ in range(PASSES):
            forward([BatchRow(cache, [1, 2, 3, 4], 4) for cache in caches]).argmax(-1).tolist()
        seconds[way] = (time.perf_counter() - started) / PASSES
        print(f"{CONVERSATIONS} conversations of 1,500 tokens {way}: {1000 * seconds[way]:.1f} ms a pass")
    assert seconds["together"] < 0.5 * seconds["one by one"]


def test_logits_on_a_gpu_are_those_of_the_cpu(model):
    import torch

    lengths = (5, 40, 64, 65, 200)
    logits = {}
    for device in ("cpu", "cuda"):
        forward = module_forward(model.to(device))
        caches = [KeyValueCache(SHAPE._replace(device=device)) for _ in lengths]
        forward([BatchRow(cache, list(range(10, 10 + count))) for cache, count in zip(caches, lengths, strict=True)])
        logits[device] = forward([BatchRow(cache, [7, 8, 9], 2) for cache in caches]).cpu()
    torch.testing.assert_close(logits["cuda"], logits["cpu"], rtol=0, atol=1e-4)
