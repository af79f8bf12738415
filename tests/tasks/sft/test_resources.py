"""Memory, steps and hours of a training from its model's shape."""

from typing import Any

import pytest

from carryover.tasks.sft.load import choose_attention
from carryover.tasks.sft.model_shape import KNOWN_SHAPES, ModelShape
from carryover.tasks.sft.resources import (
    CORE_FLOPS,
    GIB,
    LOGIT_BYTES,
    WIDE_CORE_FLOPS,
    core_flops,
    estimate_resources,
    hours_on,
    seconds_per_token,
    training_flops,
)
from carryover.tasks.sft.trainer import checkpointing_settings, keep_attention
from carryover.tasks.sft.training_spec import TRAINING, BatchSpec, LoraSpec
from tests.presets import as_kept, kept_presets

QWEN3_8B = KNOWN_SHAPES["Qwen/Qwen3-8B"]
SMOLLM2_135M = ModelShape(576, 30, 9, 3, 64, 1536, 49152, 8192, is_tied=True)
PAPER = TRAINING["paper"]


def _layer_model(layer_count, attention, vocabulary_size=400):
    """Qwen3-8B of few layers and a small vocabulary, uninitialised, with the paper's adapters in float32."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import Qwen3ForCausalLM
    from transformers.initialization import no_init_weights

    shape = QWEN3_8B._replace(layer_count=layer_count, vocabulary_size=vocabulary_size)
    config = shape.configuration(dtype="bfloat16", attn_implementation=attention)
    torch.set_default_dtype(torch.bfloat16)
    try:
        with no_init_weights():
            model: Any = Qwen3ForCausalLM(config)
    finally:
        torch.set_default_dtype(torch.float32)
    assert PAPER.lora is not None
    lora = LoraConfig(r=64, lora_alpha=128, lora_dropout=0.05, target_modules=list(PAPER.lora.target_modules))
    model: Any = get_peft_model(model, lora)
    model.enable_input_require_grads()
    return model.train()


def _saved_bytes(layer_count, *, checkpointing):
    """Bytes that a forward pass over 16k tokens saves for the backward pass, weights and masks left out."""
    import torch
    from peft.helpers import disable_input_dtype_casting
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.utils._pytree import tree_leaves

    tokens = PAPER.batch.max_length
    model = _layer_model(layer_count, "sdpa")
    saved = {}

    def pack(tensor):
        if tokens in tensor.shape and tensor.shape[-2:] != (tokens, tokens):
            saved[tensor.untyped_storage()._cdata] = tensor
        return tensor

    def counted():
        caching, cached = keep_attention()
        kept.append(caching.storage)
        return caching, cached

    kept = []
    if checkpointing:
        model.base_model.model.gradient_checkpointing_enable(checkpointing_settings() | {"context_fn": counted})
    with (
        FakeTensorMode(allow_non_fake_inputs=True),
        torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor),
        torch.autocast("cpu", dtype=torch.bfloat16),
        disable_input_dtype_casting(model),
    ):
        model.base_model.model.model(input_ids=torch.zeros(1, tokens, dtype=torch.long), use_cache=False)
        for tensor in tree_leaves(kept):
            pack(getattr(tensor, "val", torch.empty(0)))
        return sum(tensor.untyped_storage().nbytes() for tensor in saved.values())


@pytest.mark.long
@pytest.mark.slow
def test_estimated_memory_is_within_a_tenth_of_saved_tensors():
    layer = _saved_bytes(2, checkpointing=False) - _saved_bytes(1, checkpointing=False)
    kept = _saved_bytes(2, checkpointing=True) - _saved_bytes(1, checkpointing=True)
    estimate = estimate_resources(PAPER, QWEN3_8B)
    kept += PAPER.batch.max_length * 2 * (32 + 8 + 8) * 128  # compiled flex_attention keeps its inputs too
    counted = 36 * kept + layer + 2 * LOGIT_BYTES
    total = counted + estimate.weight_bytes + estimate.optimizer_bytes
    print(f"{total / GIB:.1f} GiB counted, {estimate.memory_bytes / GIB:.1f} estimated")
    assert estimate.memory_bytes == pytest.approx(total, rel=0.1)
    assert 27 * GIB < total < 33 * GIB


def test_the_paper_s_weights_are_nf4_with_adapters_in_float32():
    estimate = estimate_resources(PAPER, QWEN3_8B)
    # 6.95 G in NF4, 1.24 G of embedding and head in two bytes: 3.3 + 2.3 GiB; 174.6 M of adapter in 4 and 12 bytes
    assert 6.2 * GIB < estimate.weight_bytes < 6.4 * GIB
    assert estimate.optimizer_bytes == 174_587_904 * 12


def test_a_cpu_training_is_estimated_near_its_measured_peak():
    batch = BatchSpec(max_length=4096, packing=False, tokens=1500)  # a conversation of 4,096 tokens has a pass alone
    lora = LoraSpec(rank=32, alpha=64)
    changes = {"device": "cpu", "method": "lora", "batch": batch, "lora": lora, "gradient_checkpointing": False}
    spec = TRAINING["pretrained"].model_copy(update=changes)
    measured = 10.0 * GIB  # the process's peak, in bfloat16
    assert estimate_resources(spec, SMOLLM2_135M).memory_bytes == pytest.approx(measured, rel=0.15)


def test_the_longest_conversation_decides_a_cpu_training_s_activations():
    batch = BatchSpec(max_length=8000, packing=False, tokens=400)
    spec = TRAINING["smoke"].model_copy(update={"batch": batch})
    of_longest = {
        longest: estimate_resources(spec, SMOLLM2_135M, longest=longest).activation_bytes
        for longest in (None, 8000, 800, 100)
    }
    assert of_longest[None] == of_longest[8000] == 10 * of_longest[800]
    assert of_longest[100] == of_longest[800] / 2  # short conversations share a pass of 400 tokens


def test_a_packed_sequence_is_full_whatever_its_conversations():
    assert estimate_resources(PAPER, QWEN3_8B, longest=100) == estimate_resources(PAPER, QWEN3_8B)


def test_gpus_of_one_training_divide_all_but_quantized_weights():
    alone, shared = (estimate_resources(PAPER, QWEN3_8B, count) for count in (1, 8))
    quantized = 6_945_767_424 * (0.5 + 0.127 / 8)  # Qwen3-8B's projections
    assert shared.weight_bytes == pytest.approx(quantized + (alone.weight_bytes - quantized) / 8, abs=2)
    assert shared.optimizer_bytes == alone.optimizer_bytes / 8
    assert shared.activation_bytes == alone.activation_bytes


def test_trainings_side_by_side_take_the_first_free_gpu():
    assert [hours_on([3.0, 2.0, 2.0, 1.0], count) for count in (1, 2, 8)] == [8.0, 4.0, 3.0]


def _no_attention(module, query, key, value, _mask, **_):
    groups = query.shape[1] // key.shape[1]
    return (query + (key + value).repeat_interleave(groups, dim=1)).transpose(1, 2), None


def _fused_attention(module, query, key, value, _mask, **_):
    import torch

    key, value = (each.repeat_interleave(query.shape[1] // key.shape[1], dim=1) for each in (key, value))
    fused = torch.ops.aten._scaled_dot_product_flash_attention(query, key, value, 0.0, True)
    return fused[0].transpose(1, 2), None


def _step_flops(layer_count, attention):
    """Operations of a checkpointed training step over 16k tokens on the meta device."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    with torch.device("meta"):
        model = _layer_model(layer_count, attention, QWEN3_8B.vocabulary_size)
        model.base_model.model.gradient_checkpointing_enable(checkpointing_settings())
        tokens = torch.zeros(1, PAPER.batch.max_length, dtype=torch.long)
        with FlopCounterMode(display=False) as counter:
            model(input_ids=tokens, attention_mask={"full_attention": None}, use_cache=False).logits.sum().backward()
    return counter.get_total_flops()


def _block_share(lengths):
    """Share of the square of a packed sequence in blocks of 128 that flex_attention computes.

    Both the sequence and its blocks are taken at a quarter of their size.
    """
    import torch
    from torch.nn.attention.flex_attention import create_block_mask

    documents = torch.cat([torch.full((length // 4,), number) for number, length in enumerate(lengths)])

    def is_seen(_batch, _head, query, key):
        return (documents[query] == documents[key]) & (query >= key)

    size = len(documents)
    return 1 - create_block_mask(is_seen, None, None, size, size, device="cpu", BLOCK_SIZE=32).sparsity() / 100


@pytest.mark.long
@pytest.mark.slow
def test_attention_is_at_most_a_fifth_of_a_packed_step():
    from transformers import AttentionInterface

    AttentionInterface.register("none", _no_attention)
    AttentionInterface.register("fused", _fused_attention)
    (one, two), (rest, more) = ([_step_flops(count, name) for count in (1, 2)] for name in ("fused", "none"))
    everything, without = one + 35 * (two - one), rest + 35 * (more - rest)
    dense = everything - without
    persistent, stateless = (dense * _block_share(lengths) for lengths in ([4631, 4631, 4631, 2491], [10_761, 5623]))
    assert persistent / (persistent + without) <= 0.2  # conversations as long as Table 5's mean
    assert stateless / (stateless + without) <= 0.2
    assert dense / (dense + without) > 0.4  # what a dense mask over the whole sequence costs
    estimated = training_flops(PAPER, QWEN3_8B, 4631) * PAPER.batch.max_length
    assert estimated == pytest.approx(persistent + without, rel=0.05)


@pytest.mark.parametrize(
    ("installed", "has_gpu", "chosen"),
    [
        ((), True, "flex_attention"),
        (("kernels",), True, "kernels-community/flash-attn2"),
        (("kernels", "flash_attn"), True, "flash_attention_2"),
        (("kernels", "flash_attn"), False, "sdpa"),
    ],
)
def test_attention_is_the_fastest_that_is_installed(monkeypatch, installed, has_gpu, chosen):
    monkeypatch.setattr("carryover.tasks.sft.load.find_spec", lambda name: name if name in installed else None)
    assert choose_attention(PAPER, has_gpu=has_gpu) == chosen
    assert choose_attention(PAPER.model_copy(update={"attention": "sdpa"}), has_gpu=has_gpu) == "sdpa"


def test_the_loss_of_packed_sequences_holds_the_library_s_tiles():
    from trl.kernels.chunked_logprob import TOKEN_CHUNK_SIZE
    from trl.trainer.utils import _CHUNKED_LOGPROB_CHUNK_SIZE

    assert LOGIT_BYTES == TOKEN_CHUNK_SIZE * _CHUNKED_LOGPROB_CHUNK_SIZE * 4


@pytest.mark.parametrize(("hidden_size", "is_wide"), [(511, False), (512, True)])
def test_wide_layers_are_faster_on_a_core(hidden_size, is_wide):
    shape = SMOLLM2_135M._replace(hidden_size=hidden_size)
    expected = WIDE_CORE_FLOPS[PAPER.precision] if is_wide else CORE_FLOPS
    assert core_flops(PAPER, shape) == expected


SHAPES = {"Qwen3-8B": QWEN3_8B, "SmolLM2-135M": SMOLLM2_135M}
SIZED = [(name, shape) for name in TRAINING for shape in SHAPES if name != "paper" or shape == "Qwen3-8B"]


def sized(name, shape):
    """Return the estimates of a preset on a model, on one GPU and on four, and of a conversation of 900 tokens."""
    spec = TRAINING[name].model_copy(update={"batch": TRAINING[name].batch.model_copy(update={"max_length": 8000})})
    estimates = [estimate_resources(spec, SHAPES[shape], *more) for more in ((1,), (4,), (1, 900))]
    told = [[*estimate, estimate.memory_bytes] for estimate in estimates]
    speeds = [seconds_per_token(spec, SHAPES[shape], 500.0, device) for device in ("NVIDIA H100", "A100-80GB", "CPU")]
    return [*told, [training_flops(spec, SHAPES[shape], 500.0), core_flops(spec, SHAPES[shape]), *speeds]]


@pytest.mark.parametrize(("name", "shape"), SIZED)
def test_a_preset_takes_these_resources(name, shape):
    assert as_kept({"sizes": sized(name, shape)})["sizes"] == kept_presets(__file__, "sizes.json")[f"{name} {shape}"]
