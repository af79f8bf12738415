import shutil
import weakref
from pathlib import Path

import pytest

from carryover.tasks.services.errors import UserError
from carryover.tasks.serving.cpu.cache import KeyValueCache
from carryover.tasks.serving.cpu.models import load_models
from carryover.tasks.serving.cpu.qwen3 import Qwen3Forward
from carryover.tasks.serving.cpu.ragged import BatchRow
from carryover.tasks.serving.serving_spec import ServedModels
from tests.hub_cache import NEW_COMMIT, OLD_COMMIT, keep_as_downloaded, read_offline
from tests.tasks.serving.tiny import build_model, build_tokenizer, prompt_of


def logits_of(loaded):
    return loaded.forward([BatchRow(KeyValueCache(loaded.cache_shape), prompt_of(20))])


def test_base_adapter_and_checkpoint_stand_side_by_side(torch, base_path, adapter_path, other_path):
    models = ServedModels(
        base=str(base_path), adapters={"adapter": adapter_path}, checkpoints={"checkpoint": other_path}
    )
    base, adapter, checkpoint = load_models(models)
    assert [base.name, adapter.name, checkpoint.name] == ["base", "adapter", "checkpoint"]
    assert not torch.allclose(logits_of(base), logits_of(adapter), atol=1e-2)
    assert not torch.allclose(logits_of(base), logits_of(checkpoint), atol=1e-2)


@pytest.fixture
def _downloaded(tmp_path, monkeypatch, base_path, other_path):
    """The base and, as a newer commit, the other model, in the hub's cache as `tiny/base`."""
    keep_as_downloaded(tmp_path, "tiny/base", {OLD_COMMIT: base_path, NEW_COMMIT: other_path}, newest=NEW_COMMIT)
    read_offline(monkeypatch, tmp_path)


@pytest.mark.usefixtures("_downloaded")
def test_a_hub_base_is_loaded_at_the_named_commit(torch, base_path, other_path, adapter_path):
    def logits(base, revision=None):
        models = ServedModels(base=str(base), base_revision=revision, adapters={"adapter": adapter_path})
        return [logits_of(loaded) for loaded in load_models(models)]

    torch.testing.assert_close(logits("tiny/base", OLD_COMMIT), logits(base_path))
    torch.testing.assert_close(logits("tiny/base"), logits(other_path))
    with pytest.raises(UserError, match="model 'base' cannot be loaded from tiny/base") as caught:
        load_models(ServedModels(base="tiny/base", base_revision="3" * 40))
    assert "\n" not in str(caught.value)


def test_an_adapter_is_served_as_peft_computes_it(torch, base_path, adapter_path):
    from peft import AutoPeftModelForCausalLM

    _, adapter = load_models(ServedModels(base=str(base_path), adapters={"adapter": adapter_path}))
    expected = (
        AutoPeftModelForCausalLM.from_pretrained(adapter_path).eval()(torch.tensor([prompt_of(20)])).logits[0, -1:]
    )
    torch.testing.assert_close(logits_of(adapter), expected, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize(
    ("settings", "is_fast"),
    [
        ({}, True),
        ({"attention_bias": True}, False),
        ({"hidden_act": "gelu"}, False),
        ({"rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 1e6}}, False),
        ({"model_type": "llama"}, False),
    ],
)
def test_only_a_plain_qwen3_is_computed_without_modules(torch, tmp_path, settings, is_fast):
    model = build_model(**settings)
    model.save_pretrained(tmp_path)
    build_tokenizer().save_pretrained(tmp_path)
    (loaded,) = load_models(ServedModels(base=str(tmp_path)))
    assert isinstance(loaded.forward, Qwen3Forward) == is_fast
    expected = model(torch.tensor([prompt_of(20)])).logits[0, -1:]
    torch.testing.assert_close(logits_of(loaded), expected, rtol=1e-4, atol=1e-3)


def test_weights_that_were_joined_are_not_held_a_second_time():
    model = build_model()
    joined = [
        weakref.ref(module.weight)
        for name, module in model.named_modules()
        if name.endswith(("q_proj", "k_proj", "v_proj", "gate_proj", "up_proj"))
    ]
    forward = Qwen3Forward(model)
    assert forward
    assert joined
    assert [reference() for reference in joined] == [None] * len(joined)


def test_quantized_weights_are_computed_by_the_modules_that_unpack_them(torch, tmp_path):
    from transformers import AutoModelForCausalLM, BitsAndBytesConfig

    # Quantized in blocks of 64, which the rows of a matrix hold whole.
    build_model(hidden_size=64, head_dim=16).save_pretrained(tmp_path / "whole")
    quantization = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4")
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "whole", quantization_config=quantization)
    model.save_pretrained(tmp_path)
    build_tokenizer().save_pretrained(tmp_path)
    (loaded,) = load_models(ServedModels(base=str(tmp_path)))
    assert not isinstance(loaded.forward, Qwen3Forward)
    expected = model(torch.tensor([prompt_of(20)])).logits[0, -1:]
    assert expected.std() > 1
    torch.testing.assert_close(logits_of(loaded), expected, rtol=0, atol=0.1)  # four bits are multiplied coarsely


def test_replies_end_at_the_end_token_of_tokenizer_and_config(loaded):
    assert loaded.end_ids == {2}


def test_a_missing_directory_is_named(base_path):
    with pytest.raises(UserError, match=r"model 'base': /nowhere/model is not a directory"):
        load_models(ServedModels(base="/nowhere/model"))
    with pytest.raises(UserError, match=r"model 'a' cannot be loaded from /nowhere "):
        load_models(ServedModels(base=str(base_path), adapters={"a": Path("/nowhere")}))


def test_an_adapter_of_another_base_is_refused(tmp_path, adapter_path):
    build_model(hidden_size=16).save_pretrained(tmp_path)
    build_tokenizer().save_pretrained(tmp_path)
    with pytest.raises(UserError, match=r"model 'a' cannot be loaded from .* with the base that") as caught:
        load_models(ServedModels(base=str(tmp_path), adapters={"a": adapter_path}))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["adapter_config.json", "adapter_model.safetensors"])
def test_a_torn_adapter_is_one_line(tmp_path, base_path, adapter_path, name):
    torn = shutil.copytree(adapter_path, tmp_path / "adapter")
    (torn / name).write_bytes((torn / name).read_bytes()[:100])
    with pytest.raises(UserError, match=r"model 'a' cannot be loaded .*; name a whole folder") as caught:
        load_models(ServedModels(base=str(base_path), adapters={"a": torn}))
    assert "\n" not in str(caught.value)


def test_a_torn_base_is_one_line(tmp_path, base_path):
    torn = shutil.copytree(base_path, tmp_path / "base")
    (torn / "model.safetensors").write_bytes((base_path / "model.safetensors").read_bytes()[:100])
    with pytest.raises(UserError, match="model 'base' cannot be loaded from") as caught:
        load_models(ServedModels(base=str(torn)))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("layers", [{"max_window_layers": 1}, {"layer_types": ["full_attention"] * 2}])
def test_sliding_windows_are_refused(tmp_path, layers):
    build_model(use_sliding_window=True, sliding_window=8, **layers).save_pretrained(tmp_path)
    build_tokenizer().save_pretrained(tmp_path)
    with pytest.raises(UserError, match="full attention only"):
        load_models(ServedModels(base=str(tmp_path)))


def test_a_tokenizer_without_chat_template_is_refused(tmp_path):
    build_model().save_pretrained(tmp_path)
    tokenizer = build_tokenizer()
    tokenizer.chat_template = None
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(UserError, match="no chat template; name a folder that holds one"):
        load_models(ServedModels(base=str(tmp_path)))


def test_a_given_template_is_for_adapters_and_not_the_base(tmp_path, base_path, adapter_path, other_path):
    template = tmp_path / "template.jinja"
    template.write_text("{{ messages[0]['content'] }}")
    models = ServedModels(
        base=str(base_path), adapters={"adapter": adapter_path}, checkpoints={"checkpoint": other_path}
    )
    loaded = load_models(models, template_path=template)
    rendered = [
        model.tokenizer.apply_chat_template([{"role": "user", "content": "x"}], tokenize=False) for model in loaded
    ]
    own = "<|im_start|>user\nx<|im_end|>\n"
    assert rendered == [own, "x", own]
