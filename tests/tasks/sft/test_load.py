"""The start of a training: what is loaded how, and what saving it may meet."""

from types import SimpleNamespace
from typing import Any

import pytest

from carryover.tasks.services.errors import UserError
from carryover.tasks.services.hub import load_tokenizer
from carryover.tasks.sft.load import (
    four_bit_settings,
    load_start_model,
    load_start_tokenizer,
    new_model,
    quiet_libraries,
    save_model,
    save_untrained,
    with_template,
)
from carryover.tasks.sft.tokenizer import build_tokenizer, chat_template
from carryover.tasks.sft.training_spec import TRAINING, ArchitectureSpec, TokenizerSpec

SHAPE = ArchitectureSpec(hidden_size=32, layer_count=1, head_size=16, intermediate_size=64)
PAPER = TRAINING["paper"]


@pytest.fixture
def tokenizer(tmp_path):
    return load_tokenizer(build_tokenizer(["a"], TokenizerSpec(vocabulary_size=259), tmp_path / "tokenizer"))


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("I/O error: File too large (os error 27)", "File too large"),
        ("Error: I/O error: No space left on device (os error 28)", "No space left on device"),
        ("I/O error: Disk quota exceeded (os error 122)", "Disk quota exceeded"),
        ("I/O error: Permission denied (os error 13)", None),
        ("invalid header", None),
    ],
)
def test_a_model_on_a_full_disk_is_a_users_error(tmp_path, said, told):
    from safetensors import SafetensorError

    saved = []

    def save_pretrained(folder, **options):
        saved.append((folder, options))
        raise SafetensorError(said)

    model: Any = SimpleNamespace(save_pretrained=save_pretrained)
    expected = SafetensorError if told is None else UserError
    with pytest.raises(expected) as refused:
        save_model(model, tmp_path, state_dict={"a": 1})
    assert saved == [(tmp_path, {"state_dict": {"a": 1}})]
    assert str(refused.value) == (said if told is None else f"cannot write {tmp_path}: {told}; free space there")


def test_a_base_in_four_bits_is_nf4_quantized_twice():
    import torch

    settings = four_bit_settings()
    assert (settings.load_in_4bit, settings.bnb_4bit_quant_type) == (True, "nf4")
    assert settings.bnb_4bit_use_double_quant
    assert settings.bnb_4bit_compute_dtype == torch.bfloat16


@pytest.mark.parametrize(("method", "precision", "has_gpu"), [("qlora", "bfloat16", True), ("lora", "float32", False)])
def test_a_base_is_loaded_as_the_spec_says(monkeypatch, tokenizer, method, precision, has_gpu):
    import torch
    from transformers import AutoModelForCausalLM

    asked = []
    monkeypatch.setattr(
        AutoModelForCausalLM, "from_pretrained", lambda *given, **options: asked.append((given, options))
    )
    monkeypatch.setattr(torch.cuda, "is_available", lambda: has_gpu)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 3)
    spec = PAPER.model_copy(update={"method": method, "precision": precision, "attention": "sdpa"})
    load_start_model(spec, "hub/m", tokenizer, 0)
    ((given, options),) = asked
    quantization = options.pop("quantization_config")
    assert (quantization and quantization.to_dict()) == (four_bit_settings().to_dict() if method == "qlora" else None)
    assert given == ("hub/m",)
    assert options == {
        "revision": PAPER.base_revision,
        "dtype": getattr(torch, precision),
        "attn_implementation": "sdpa",
        "device_map": {"": 3} if has_gpu else None,
    }


def test_a_new_models_weights_are_those_of_its_seed_alone(tokenizer, tmp_path):
    import torch

    torch.manual_seed(9)
    before = torch.random.get_rng_state()
    models: list[Any] = [new_model(SHAPE, tokenizer, seed) for seed in (1, 1, 2)]
    assert torch.equal(torch.random.get_rng_state(), before)
    first, same, other = (model.get_input_embeddings().weight for model in models)
    assert torch.equal(first, same)
    assert not torch.equal(first, other)
    config = models[0].config
    tokens = tokenizer.get_vocab()
    assert (config.vocab_size, config.tie_word_embeddings, config.bos_token_id) == (259, True, None)
    assert (config.eos_token_id, config.pad_token_id) == (tokens["<|im_end|>"], tokens["<|endoftext|>"])
    assert models[0].dtype == torch.float32
    folder = save_untrained(SHAPE, tmp_path / "tokenizer", tmp_path / "base", seed=1)
    assert folder == tmp_path / "base"
    assert load_tokenizer(folder).get_vocab() == tokens


def test_a_training_has_its_own_template_or_its_bases(tokenizer, tmp_path):
    scratch = TRAINING["smoke"].model_copy(update={"chat_template": "qwen3"})
    assert load_start_tokenizer(scratch, str(tmp_path / "tokenizer")).chat_template == chat_template("qwen3")
    assert with_template(scratch, tokenizer).chat_template == chat_template("qwen3")
    of_base = scratch.model_copy(update={"chat_template": None})
    tokenizer.chat_template = chat_template("chatml")
    assert with_template(of_base, tokenizer).chat_template == chat_template("chatml")
    tokenizer.chat_template = None
    with pytest.raises(UserError) as refused:
        with_template(of_base, tokenizer)
    assert str(refused.value) == ("the base's tokenizer has no chat template; set chat_template to 'chatml' or 'qwen3'")
    tokenizer.chat_template = "{% for message in messages %}{{ message.content }}{% endfor %}"
    with pytest.raises(UserError) as refused:
        with_template(of_base, tokenizer)
    assert str(refused.value) == (
        "unsupported chat template of the base: it rewrites earlier turns or ends none, and TRL has no variant of it; "
        "set chat_template to 'chatml' or 'qwen3'"
    )


def test_libraries_show_no_bars_and_notices(monkeypatch):
    import datasets
    import transformers

    told = []
    monkeypatch.setattr("carryover.tasks.sft.load.import_bitsandbytes", lambda: told.append("bitsandbytes"))
    monkeypatch.setattr(datasets, "disable_progress_bars", lambda: told.append("datasets"))
    logging = transformers.utils.logging
    monkeypatch.setattr(logging, "disable_progress_bar", lambda: told.append("transformers"))
    monkeypatch.setattr(logging, "set_verbosity_error", lambda: told.append("errors alone"))
    quiet_libraries()
    assert told == ["bitsandbytes", "datasets", "transformers", "errors alone"]
