"""Checkpointed layers compute attention once, and their gradients are those of layers that keep everything."""

import copy

import pytest

from carryover.tasks.sft.trainer import checkpointing_settings


@pytest.fixture(scope="module")
def model():
    """Two small layers, and attention that inductor compiles: `flex_attention` has no backward pass on a CPU."""
    import torch
    from transformers import AttentionInterface, Qwen3Config, Qwen3ForCausalLM

    @torch.compile
    def attention(query, key, value, scaling):
        return (query @ key.transpose(-1, -2) * scaling).softmax(-1) @ value

    def compiled(module, query, key, value, _mask, scaling, **_):
        key, value = (each.repeat_interleave(query.shape[1] // key.shape[1], dim=1) for each in (key, value))
        return attention(query, key, value, scaling).transpose(1, 2), None

    AttentionInterface.register("compiled", compiled)
    torch.manual_seed(0)
    shape = Qwen3Config(
        vocab_size=400,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
    )
    return Qwen3ForCausalLM(shape).train()


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize(
    ("attention", "operator"),
    [("sdpa", "_scaled_dot_product_flash_attention_for_cpu.default"), ("compiled", "inductor_compiled_code")],
)
def test_checkpointed_layers_compute_attention_once(model, attention, operator):
    import torch
    from torch._higher_order_ops import inductor_compiled_code
    from torch._higher_order_ops.utils import redirect_to_mode
    from torch.utils._python_dispatch import TorchDispatchMode

    class Counting(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            calls[-1] += str(func).endswith(operator)
            return func(*args, **(kwargs or {}))

        @classmethod
        def ignore_compile_internals(cls):
            return True

    redirect_to_mode(inductor_compiled_code, Counting)
    model = copy.deepcopy(model)
    model.set_attn_implementation(attention)
    tokens = torch.arange(64)[None] % 7
    gradients, calls, ours = [], [], checkpointing_settings()
    for settings in (None, {"use_reentrant": False}, ours):
        model.zero_grad()
        if settings:
            model.gradient_checkpointing_enable(settings)
        calls.append(0)
        with Counting():
            loss = model(input_ids=tokens, attention_mask={"full_attention": None}, labels=tokens, use_cache=False).loss
            loss.backward()
        gradients.append([value.grad for value in model.parameters()])
    everything, recomputed, kept = calls
    assert kept == everything == recomputed - 2  # two layers
    assert all(torch.equal(one, other) for one, other in zip(gradients[0], gradients[2], strict=True))
