"""Trainings that start from a base: adapters, and bases that cannot be trained."""

import json
from typing import Any

import pytest

from carryover.tasks.datasets.conversations import read_conversations
from carryover.tasks.services.errors import UserError
from carryover.tasks.serving.cpu.models import load_models
from carryover.tasks.serving.serving_spec import ServedModels
from carryover.tasks.sft.load import load_start_model, load_start_tokenizer
from carryover.tasks.sft.prepare import prepare_data
from carryover.tasks.sft.tokenizer import chat_template
from carryover.tasks.sft.trainer import open_trainer
from carryover.tasks.sft.training_log import log_callback
from carryover.tasks.sft.training_spec import LoraSpec, TrainingSpec
from tests.flattening import flat
from tests.hub_cache import OLD_COMMIT
from tests.tasks.sft.training import ADAPTER, SMOKE, run_training, small_paper


def test_an_adapter_is_small_and_names_its_base(world, base, tmp_path):
    spec = ADAPTER.model_copy(update={"base_revision": OLD_COMMIT})
    adapter = run_training(spec, world, tmp_path / "adapter", base_model=base)
    assert (adapter.kind, adapter.base_model) == ("adapter", str(base))
    # one layer of width 32: rank 4 x (4 x (32 + 32) + 3 x (32 + 64))
    assert adapter.trained_parameter_count == 4 * (4 * 64 + 3 * 96)
    settings = json.loads((adapter.path / "adapter_config.json").read_text())
    assert (settings["base_model_name_or_path"], settings["revision"]) == (str(base), OLD_COMMIT)
    assert len(load_models(ServedModels(base=str(base), adapters={"adapted": adapter.path}))) == 2


@pytest.mark.slow
def test_a_trained_embedding_is_saved_with_its_adapter_and_tied(world, base, tmp_path):
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    lora = LoraSpec(rank=4, alpha=8, dropout=0.0, has_trained_embedding=True)
    adapter = run_training(ADAPTER.model_copy(update={"lora": lora}), world, tmp_path / "adapter", base_model=base)
    untrained: Any = AutoModelForCausalLM.from_pretrained(base)
    started = AutoModelForCausalLM.from_pretrained(base)
    adapted: Any = PeftModel.from_pretrained(started, adapter.path)
    merged = adapted.merge_and_unload()
    before, after = untrained.get_input_embeddings().weight, merged.get_input_embeddings().weight
    assert adapter.trained_parameter_count == 4 * (4 * 64 + 3 * 96) + before.numel()
    assert (before - after).abs().max() > 0
    assert merged.get_output_embeddings().weight.equal(after)
    served: Any = load_models(ServedModels(base=str(base), adapters={"adapted": adapter.path}))[1].forward
    assert served.embedding.equal(after)
    assert served.head.equal(after)


@pytest.mark.parametrize("is_paper", [False, True], ids=["lora", "paper"])
@pytest.mark.parametrize("has_trained_embedding", [False, True], ids=["projections", "embedding"])
def test_training_moves_the_adapter_and_no_tensor_of_its_base(world, base, tmp_path, is_paper, has_trained_embedding):
    import torch

    spec = small_paper(base) if is_paper else ADAPTER
    assert spec.lora is not None
    lora = spec.lora.model_copy(update={"has_trained_embedding": has_trained_embedding})
    spec = spec.model_copy(update={"lora": lora, "validation_share": 0.0})
    tokenizer = load_start_tokenizer(spec, str(base))
    model = load_start_model(spec, str(base), tokenizer, 0)
    conversations = read_conversations(world / "data.jsonl")
    data = prepare_data(conversations, tokenizer, max_length=spec.batch.max_length, validation_share=0.0, seed=0)
    callback = log_callback(tmp_path / "log.jsonl", None)
    trainer = open_trainer(spec, model, tokenizer, data, checkpoints=tmp_path, seed=0, callback=callback)
    before = _snapshot(trainer.model)
    trainer.train()
    after = _snapshot(trainer.model)
    assert after.keys() == before.keys()
    moved = {name for name in before if not after[name].equal(before[name])}
    assert {name for name in before if "lora_B" in name} <= moved
    # an embedding trained beside the adapter is a copy of the base's, and the output head is tied to that copy
    allowed = ("lora_A", "lora_B", *(("modules_to_save",) if has_trained_embedding else ()))
    assert not [name for name in moved if not any(word in name for word in allowed)]
    assert any("modules_to_save" in name for name in moved) is has_trained_embedding
    packed = [
        name for name, value in before.items() if value.dtype == torch.uint8 and name.endswith("base_layer.weight")
    ]
    assert len(packed) == (7 if is_paper else 0)  # the projections of one layer
    model, optimizer = trainer.model, trainer.optimizer
    assert isinstance(model, torch.nn.Module)
    assert isinstance(optimizer, torch.optim.Optimizer)
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    moments = flat(state.values() for state in optimizer.state_dict()["state"].values())
    assert {value.dtype for value in [*trained, *moments]} == {torch.float32}


@pytest.mark.slow
def test_the_papers_path_trains_on_a_cpu(world, base, tmp_path):
    """NF4 with double quantization, LoRA, packing, checkpointing."""
    adapter = run_training(small_paper(base), world, tmp_path / "adapter", seed=3407)
    assert adapter.step_count == 1
    assert adapter.validation_loss is None  # on a CPU NF4 weights are for training or for inference, not for both
    tensors = _tensors(adapter.path)
    assert {name.rsplit(".", 2)[1] for name in tensors} == {"lora_A", "lora_B"}
    assert any(value.abs().max() > 0 for name, value in tensors.items() if "lora_B" in name)
    assert adapter.trained_parameter_count == 64 * (4 * 64 + 3 * 96)


def test_packed_conversations_do_not_see_each_other(base):
    import torch
    from transformers import AutoModelForCausalLM
    from trl.trainer.sft_trainer import DataCollatorForLanguageModeling

    model = AutoModelForCausalLM.from_pretrained(base, attn_implementation="sdpa").eval()
    first, second = list(range(5, 25)), list(range(40, 70))
    row = {"input_ids": first + second, "labels": first + second, "seq_lengths": [len(first), len(second)]}
    packed = DataCollatorForLanguageModeling(pad_token_id=0, padding_free=True)([row])
    with torch.no_grad():
        together = model(input_ids=packed["input_ids"], position_ids=packed["position_ids"], use_cache=False).logits[0]
        alone = model(input_ids=torch.tensor([second]), use_cache=False).logits[0]
    torch.testing.assert_close(together[len(first) :], alone, atol=1e-5, rtol=1e-4)


def test_a_template_that_cannot_show_replies_is_one_line(base, world, tmp_path):
    from transformers import AutoTokenizer

    spec = TrainingSpec.model_validate(ADAPTER.model_dump() | {"chat_template": None})
    assert load_start_tokenizer(spec, str(base)).chat_template == chat_template("chatml")  # shows them already
    tokenizer = AutoTokenizer.from_pretrained(base)
    tokenizer.chat_template = "{% for message in messages %}{{ message.content }}{% endfor %}"
    for path in base.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(UserError, match=r"TRL has no variant of it.*set chat_template"):
        load_start_tokenizer(spec, str(tmp_path))


@pytest.mark.parametrize(
    ("spec", "arguments", "message"),
    [
        (SMOKE, {}, "starts from scratch and needs a tokenizer"),
        (ADAPTER, {}, "adapts a base of our own and needs base_model"),
        (ADAPTER, {"base_model": "/nowhere/base"}, "base model not found: /nowhere/base"),
    ],
)
def test_a_missing_start_is_one_line(world, tmp_path, spec, arguments, message):
    with pytest.raises(UserError, match=message) as caught:
        run_training(spec, world, tmp_path / "model", **arguments)
    assert "\n" not in str(caught.value)


def test_a_folder_without_a_model_is_one_line(world, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="no usable base model") as caught:
        run_training(ADAPTER, world, tmp_path / "model", base_model=tmp_path / "empty")
    assert "\n" not in str(caught.value)


def _snapshot(model):
    """Copy every tensor that a model has in memory, packed four-bit weights and their constants included."""
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


def _tensors(folder):
    from safetensors.torch import load_file

    (path,) = folder.glob("*.safetensors")
    return load_file(path)
