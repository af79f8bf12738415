"""Both forward passes over rows beside transformers: the same logits, whatever the rows."""

import pytest

from carryover.tasks.serving.cpu.cache import CacheShape, KeyValueCache
from carryover.tasks.serving.cpu.models import ATTENTION_NAME, module_forward, register_ragged_attention
from carryover.tasks.serving.cpu.qwen3 import Qwen3Forward
from carryover.tasks.serving.cpu.ragged import BatchRow, open_pass
from tests.tasks.serving.tiny import build_model, prompt_of

SHAPE = CacheShape(layer_count=2, head_count=2, head_dim=8)


def load_pair(folder, model_type):
    """The same weights twice: with attention over rows, and as transformers computes them."""
    import torch
    from transformers import AutoModelForCausalLM

    register_ragged_attention()
    model = build_model(model_type=model_type, use_sliding_window=False)
    for name, parameter in model.named_parameters():
        if "norm" in name:  # else all ones, and as good as left out
            torch.nn.init.uniform_(parameter, 0.5, 1.5, generator=torch.Generator().manual_seed(len(name)))
    model.save_pretrained(folder)
    ragged = AutoModelForCausalLM.from_pretrained(folder, attn_implementation=ATTENTION_NAME).eval()
    return ragged, AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager").eval()


@pytest.fixture(params=["one by one", "together"])
def attention(request, monkeypatch):
    """Short rows are attended one by one as on a CPU, or together as on a GPU."""
    if request.param == "together":
        monkeypatch.setattr("carryover.tasks.serving.cpu.ragged.TOGETHER_ON", ("cpu",))


@pytest.fixture(params=["qwen3", "llama", "qwen2", "qwen3 without modules"])
def pair(request, tmp_path, attention):
    """A forward pass over rows, and the model as transformers computes it."""
    model_type, _, has_no_modules = request.param.partition(" ")
    ragged, plain = load_pair(tmp_path, model_type)
    return (Qwen3Forward if has_no_modules else module_forward)(ragged), plain


def expected_logits(model, token_ids):
    import torch

    return model(torch.tensor([token_ids])).logits[0]


def test_rows_of_any_length_agree_with_the_model_alone(torch, pair):
    forward, plain = pair
    prompts = [prompt_of(1), prompt_of(5, 30), prompt_of(64, 60), prompt_of(65, 90), prompt_of(150, 120)]
    logits = forward([BatchRow(KeyValueCache(SHAPE), prompt) for prompt in prompts])
    expected = torch.stack([expected_logits(plain, prompt)[-1] for prompt in prompts])
    torch.testing.assert_close(logits, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("added", [1, 2, 64, 65, 100])
def test_a_row_goes_on_after_what_its_cache_holds(torch, pair, added):
    forward, plain = pair
    prompt = prompt_of(300)
    cache, other = KeyValueCache(SHAPE), KeyValueCache(SHAPE)
    forward([BatchRow(cache, prompt[:170]), BatchRow(other, prompt_of(3))])
    logits = forward([BatchRow(other, prompt_of(2)), BatchRow(cache, prompt[170 : 170 + added], logit_count=added)])
    expected = expected_logits(plain, prompt[: 170 + added])[170:]
    torch.testing.assert_close(logits[1:], expected, rtol=1e-4, atol=1e-4)


def test_a_truncated_cache_continues_as_if_never_longer(torch, pair):
    forward, plain = pair
    cache = KeyValueCache(SHAPE)
    forward([BatchRow(cache, prompt_of(20))])
    cache.truncate(12)
    logits = forward([BatchRow(cache, [250, 251])])
    expected = expected_logits(plain, [*prompt_of(12), 250, 251])[-1:]
    torch.testing.assert_close(logits, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("attention", ["together"], indirect=True)
@pytest.mark.parametrize("copied_bytes", [1, 20_000])
def test_rows_beyond_the_copied_bytes_are_attended_alone(torch, pair, monkeypatch, copied_bytes):
    monkeypatch.setattr("carryover.tasks.serving.cpu.padded.COPIED_BYTES", copied_bytes)
    forward, plain = pair
    caches = [KeyValueCache(SHAPE) for _ in range(3)]
    forward([BatchRow(cache, prompt_of(20 + 10 * place)) for place, cache in enumerate(caches)])
    logits = forward([BatchRow(cache, [7, 8, 9], logit_count=2) for cache in caches])
    expected = [expected_logits(plain, [*prompt_of(20 + 10 * place), 7, 8, 9])[-2:] for place in range(3)]
    torch.testing.assert_close(logits, torch.cat(expected), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("copied_bytes", "together"), [(3 * 42 * 256, 3), (3 * 42 * 256 - 1, 2), (22 * 256, 1), (1, 0)]
)
def test_all_copies_of_a_pass_fit_the_copied_bytes(torch, monkeypatch, copied_bytes, together):
    monkeypatch.setattr("carryover.tasks.serving.cpu.ragged.TOGETHER_ON", ("cpu",))
    monkeypatch.setattr("carryover.tasks.serving.cpu.padded.COPIED_BYTES", copied_bytes)
    lengths = (40, 20, 30)
    caches = [KeyValueCache(SHAPE) for _ in lengths]
    for cache, length in zip(caches, lengths, strict=True):
        cache.reserve(length)
        cache.token_ids = prompt_of(length)
    with open_pass([BatchRow(cache, [7, 8]) for cache in caches]) as opened:
        rows = [] if opened.padded is None else opened.padded.rows
        assert [row.total for row in rows] == [22, 32, 42][:together]
        assert len(opened.views) == 3 - together
        assert opened.padded is None or opened.padded.copied.nbytes <= copied_bytes
