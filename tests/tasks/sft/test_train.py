"""A training from data to a loadable model, on a CPU, at a size of seconds."""

import json
from typing import Any

import pytest

from carryover.tasks.datasets.conversations import (
    Conversation,
    TrainingMessage,
    read_conversations,
    write_conversations,
)
from carryover.tasks.services.errors import UserError
from carryover.tasks.serving.cpu.models import load_models
from carryover.tasks.serving.serving_spec import ServedModels
from carryover.tasks.sft.folder import held
from carryover.tasks.sft.load import load_start, save_untrained
from carryover.tasks.sft.prepare import prepare_data
from carryover.tasks.sft.tokenizer import build_tokenizer, chat_template
from carryover.tasks.sft.train import TrainingJob, train
from carryover.tasks.sft.trainer import open_trainer
from carryover.tasks.sft.training_log import DivergedError, log_callback
from carryover.tasks.sft.training_spec import TRAINING, BatchSpec, LoraSpec, TokenizerSpec, TrainingSpec
from tests.hub_cache import OLD_COMMIT

SMOKE = TRAINING["smoke"].model_copy(
    update={"tokenizer": TokenizerSpec(vocabulary_size=300), "max_steps": 6, "logging_steps": 2, "save_steps": 2}
)
ADAPTER = TRAINING["smoke_common"].model_copy(
    update={"lora": LoraSpec(rank=4, alpha=8, dropout=0.1), "max_steps": 4, "logging_steps": 2, "save_steps": 2}
)
PACKED = ADAPTER.model_copy(update={"batch": BatchSpec(max_length=256, packing=True, accumulation=2)})

BROKEN_OFF = [
    "adapter",
    *(pytest.param(name, marks=pytest.mark.slow) for name in ("scratch", "packed", "embedding", "paper")),
]


def _conversation(number):
    name = f"item_{number}"
    return Conversation(
        messages=(
            TrainingMessage(role="system", content="Names persist."),
            TrainingMessage(role="user", content=f"Take {name}."),
            TrainingMessage(role="assistant", content=f"I take it.\n```python\ntake('{name}')\n```" * (1 + number % 3)),
            TrainingMessage(role="user", content='{"output": "ok"}'),
            TrainingMessage(role="assistant", content="```python\nfinish()\n```"),
        )
    )


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A folder with training data and a tokenizer."""
    root = tmp_path_factory.mktemp("training")
    conversations = [_conversation(number) for number in range(60)]
    write_conversations(root / "data.jsonl", conversations)
    texts = [message.content for conversation in conversations for message in conversation.messages]
    assert SMOKE.tokenizer is not None
    build_tokenizer(texts, SMOKE.tokenizer, root / "tokenizer")
    return root


@pytest.fixture(scope="module")
def base(world):
    """A base of our own, untrained."""
    assert SMOKE.architecture is not None
    return save_untrained(SMOKE.architecture, world / "tokenizer", world / "base", seed=1)


def _train(spec, world, output, *, seed=0, contract="persistent", on_log=None, base_model=None, **arguments):
    base = None if base_model is None else str(base_model)
    return train(
        TrainingJob(
            spec=spec, dataset=world / "data.jsonl", output=output, contract=contract, seed=seed, base_model=base,
            **arguments,
        ),
        on_log,
    )  # fmt: skip


def _tensors(folder):
    from safetensors.torch import load_file

    (path,) = folder.glob("*.safetensors")
    return load_file(path)


@pytest.fixture(scope="module")
def trained(world):
    """A finished scratch training."""
    return _train(SMOKE, world, world / "trained", tokenizer=world / "tokenizer", plan_digest="plan")


def test_a_scratch_training_leaves_a_checkpoint_that_loads_and_speaks(trained):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model: Any = AutoModelForCausalLM.from_pretrained(trained.path)
    tokenizer = AutoTokenizer.from_pretrained(trained.path)
    assert tokenizer.chat_template == chat_template("chatml")
    prompt = tokenizer.apply_chat_template(
        [{"role": "user", "content": "Take it."}], add_generation_prompt=True, return_dict=True, return_tensors="pt"
    )
    assert model.generate(**prompt, max_new_tokens=2).shape[1] == prompt["input_ids"].shape[1] + 2
    assert sum(parameter.numel() for parameter in model.parameters()) == trained.parameter_count


def test_what_a_training_says_of_itself(trained):
    assert (trained.contract, trained.kind, trained.base_model) == ("persistent", "checkpoint", "untrained")
    assert [metric.optimizer_step for metric in trained.metrics] == [2, 4, 6]
    assert trained.step_count == trained.metrics[-1].total_steps == 6
    assert trained.token_count == trained.metrics[-1].token_count > 0
    assert trained.final_loss == trained.metrics[-1].loss < trained.metrics[0].loss
    assert trained.trained_parameter_count == trained.parameter_count
    assert all(metric.gradient_norm is not None for metric in trained.metrics)
    assert all(0 < (metric.token_accuracy or 0) < 1 and (metric.entropy or 0) > 0 for metric in trained.metrics)
    assert trained.attention == "sdpa"
    assert len(list((trained.path / "checkpoints").glob("checkpoint-*"))) == SMOKE.kept_checkpoints


@pytest.mark.slow
def test_a_short_training_has_checkpoints_to_resume_from(world, base, tmp_path):
    spec = PACKED.model_copy(update={"max_steps": 9, "epochs": 3.0, "logging_steps": 10, "save_steps": 100})

    def break_off(metric):
        if metric.optimizer_step == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _train(spec, world, tmp_path / "broken", base_model=base, on_log=break_off)
    assert [path.name for path in (tmp_path / "broken" / "checkpoints").glob("checkpoint-*")] == ["checkpoint-3"]
    resumed = _train(spec, world, tmp_path / "broken", base_model=base)
    unbroken = _train(spec, world, tmp_path / "unbroken", base_model=base)
    assert [metric.optimizer_step for metric in resumed.metrics] == [3, 6, 9]
    assert [metric.loss for metric in resumed.metrics] == [metric.loss for metric in unbroken.metrics]
    assert resumed.model_digest == unbroken.model_digest


def test_two_trainings_never_write_into_one_folder(world, tmp_path, monkeypatch):
    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("carryover.tasks.services.whole_files.time.sleep", interrupt)  # it waits
    with held(tmp_path / "model"), pytest.raises(KeyboardInterrupt):
        _train(SMOKE, world, tmp_path / "model", tokenizer=world / "tokenizer")
    assert not (tmp_path / "model" / "training.json").exists()


@pytest.mark.slow
def test_the_seed_decides_the_weights_to_the_byte(trained, world, tmp_path):
    again = _train(SMOKE, world, tmp_path / "again", tokenizer=world / "tokenizer")
    other = _train(SMOKE, world, tmp_path / "other", tokenizer=world / "tokenizer", seed=1)
    _check_equal(again, trained)
    assert other.model_digest != trained.model_digest


def _name_spec(base, name):
    """Return a training of a few steps that saves at least every second of them."""
    lora = LoraSpec(rank=4, alpha=8, dropout=0.1, has_trained_embedding=True)
    specs = {
        "scratch": SMOKE,
        "adapter": ADAPTER,
        "packed": PACKED,
        "embedding": ADAPTER.model_copy(update={"lora": lora}),
    }
    small = {"max_steps": 4, "logging_steps": 2, "save_steps": 2}
    return _small_paper(base).model_copy(update=small) if name == "paper" else specs[name]


def _check_equal(resumed, unbroken):
    """Equal to the bit on a CPU; on a GPU, whose kernels may add in another order, equal losses to three digits."""
    assert (resumed.step_count, resumed.token_count) == (unbroken.step_count, unbroken.token_count)
    losses = [metric.loss for metric in resumed.metrics]
    expected = [metric.loss for metric in unbroken.metrics]
    if resumed.device != "cpu":
        assert losses == pytest.approx(expected, rel=1e-3)
        return
    assert losses == expected
    assert resumed.model_digest == unbroken.model_digest


@pytest.mark.parametrize("name", BROKEN_OFF)
def test_an_interrupted_training_resumes_to_the_same_weights(name, world, base, tmp_path):
    spec = _name_spec(base, name)

    def break_off(metric):
        if metric.optimizer_step == 4:
            raise KeyboardInterrupt

    start = {"tokenizer": world / "tokenizer", "base_model": None if name == "paper" else base}
    unbroken = _train(spec, world, tmp_path / "unbroken", **start)
    with pytest.raises(KeyboardInterrupt):
        _train(spec, world, tmp_path / "broken", **start, on_log=break_off)
    assert not (tmp_path / "broken" / "carryover.json").exists()
    torn = tmp_path / "broken" / "checkpoints" / "checkpoint-4"
    torn.mkdir(exist_ok=True)
    (torn / "trainer_state.json").write_text('{"global_step": 4, ')  # killed in the middle of writing it
    resumed = _train(spec, world, tmp_path / "broken", **start)
    _check_equal(resumed, unbroken)


@pytest.mark.parametrize("name", BROKEN_OFF)
def test_training_interrupted_after_its_last_step_takes_no_more(name, world, base, tmp_path):
    spec = _name_spec(base, name)
    start = {"tokenizer": world / "tokenizer", "base_model": None if name == "paper" else base}
    unbroken = _train(spec, world, tmp_path / "model", **start)
    for path in [tmp_path / "model" / "carryover.json", *(tmp_path / "model").glob("*.safetensors")]:
        path.unlink()
    resumed = _train(spec, world, tmp_path / "model", **start)
    _check_equal(resumed, unbroken)


def test_a_diverged_training_is_one_line_and_nothing_finished(world, tmp_path):
    optimizer = SMOKE.optimizer.model_copy(update={"kind": "adamw", "learning_rate": 1e30, "warmup_ratio": 0.0})
    spec = SMOKE.model_copy(update={"optimizer": optimizer})
    for _ in range(2):  # nor does another start finish it
        with pytest.raises(
            UserError, match=r"diverged: the gradient norm is nan at optimizer step 2 with .*lower"
        ) as caught:
            _train(spec, world, tmp_path / "model", tokenizer=world / "tokenizer")
        assert "\n" not in str(caught.value)
        assert not (tmp_path / "model" / "carryover.json").exists()
        assert not list((tmp_path / "model").glob("*.safetensors"))
    assert "nan" not in (tmp_path / "model" / "training_log.jsonl").read_text().lower()


def test_weights_broken_by_the_last_step_are_not_saved(world, tmp_path):
    # loss and gradient of the only step are those of the start; decay and update together go beyond float32's 3.4e38
    changes = {"kind": "adamw", "learning_rate": 3.39e38, "weight_decay": 1.0, "beta1": 0.0, "warmup_ratio": 0.0}
    spec = SMOKE.model_copy(update={"optimizer": SMOKE.optimizer.model_copy(update=changes), "max_steps": 1})
    model = tmp_path / "model"
    with pytest.raises(DivergedError, match=f"weights are not finite at optimizer step 1 .* or delete {model}"):
        _train(spec, world, model, tokenizer=world / "tokenizer")
    assert not (model / "carryover.json").exists()
    assert not list(model.glob("*.safetensors"))


def test_a_finished_training_is_returned_as_it_is(trained, world):
    again = _train(SMOKE, world, trained.path, tokenizer=world / "tokenizer", plan_digest="plan")
    assert again == trained


def test_a_folder_of_another_training_is_refused(trained, world):
    for seed, contract in ((5, "persistent"), (0, "stateless")):
        with pytest.raises(UserError, match=r"training \(start, contract, data, seed or settings differ\)"):
            _train(SMOKE, world, trained.path, tokenizer=world / "tokenizer", seed=seed, contract=contract)


def test_a_trained_embedding_is_saved_with_its_adapter_and_tied(world, base, tmp_path):
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    lora = LoraSpec(rank=4, alpha=8, dropout=0.0, has_trained_embedding=True)
    adapter = _train(ADAPTER.model_copy(update={"lora": lora}), world, tmp_path / "adapter", base_model=base)
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


def test_an_adapter_is_small_and_names_its_base(world, base, tmp_path):
    spec = ADAPTER.model_copy(update={"base_revision": OLD_COMMIT})
    adapter = _train(spec, world, tmp_path / "adapter", base_model=base)
    assert (adapter.kind, adapter.base_model) == ("adapter", str(base))
    # one layer of width 32: rank 4 x (4 x (32 + 32) + 3 x (32 + 64))
    assert adapter.trained_parameter_count == 4 * (4 * 64 + 3 * 96)
    settings = json.loads((adapter.path / "adapter_config.json").read_text())
    assert (settings["base_model_name_or_path"], settings["revision"]) == (str(base), OLD_COMMIT)
    assert len(load_models(ServedModels(base=str(base), adapters={"adapted": adapter.path}))) == 2


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
        _train(spec, world, tmp_path / "model", **arguments)
    assert "\n" not in str(caught.value)


def test_a_folder_without_a_model_is_one_line(world, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="no usable base model") as caught:
        _train(ADAPTER, world, tmp_path / "model", base_model=tmp_path / "empty")
    assert "\n" not in str(caught.value)


def test_a_template_that_cannot_show_replies_is_one_line(base, world, tmp_path):
    from transformers import AutoTokenizer

    spec = TrainingSpec.model_validate(ADAPTER.model_dump() | {"chat_template": None})
    assert load_start(spec, str(base), 0)[1].chat_template == chat_template("chatml")  # shows them already
    tokenizer = AutoTokenizer.from_pretrained(base)
    tokenizer.chat_template = "{% for message in messages %}{{ message.content }}{% endfor %}"
    for path in base.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(UserError, match=r"TRL has no variant of it.*set chat_template"):
        load_start(spec, str(tmp_path), 0)


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


def _small_paper(base):
    paper = TRAINING["paper"]
    changes = {
        "base_model": str(base), "max_steps": 1, "logging_steps": 1,
        "batch": paper.batch.model_copy(update={"max_length": 512, "accumulation": 2}),
        "optimizer": paper.optimizer.model_copy(update={"warmup_ratio": 0.0}),  # the first step of a warm-up has rate 0
    }  # fmt: skip
    return paper.model_copy(update=changes)


def _snapshot(model):
    """Copy every tensor that a model has in memory, packed four-bit weights and their constants included."""
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


@pytest.mark.parametrize("is_paper", [False, True], ids=["lora", "paper"])
@pytest.mark.parametrize("has_trained_embedding", [False, True], ids=["projections", "embedding"])
def test_training_moves_the_adapter_and_no_tensor_of_its_base(world, base, tmp_path, is_paper, has_trained_embedding):
    import torch

    spec = _small_paper(base) if is_paper else ADAPTER
    assert spec.lora is not None
    lora = spec.lora.model_copy(update={"has_trained_embedding": has_trained_embedding})
    spec = spec.model_copy(update={"lora": lora, "validation_share": 0.0})
    model, tokenizer = load_start(spec, str(base), 0)
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
    moments = [value for state in optimizer.state_dict()["state"].values() for value in state.values()]
    assert {value.dtype for value in [*trained, *moments]} == {torch.float32}


@pytest.mark.slow
def test_the_papers_path_trains_on_a_cpu(world, base, tmp_path):
    """NF4 with double quantization, LoRA, packing, checkpointing."""
    adapter = _train(_small_paper(base), world, tmp_path / "adapter", seed=3407)
    assert adapter.step_count == 1
    assert adapter.validation_loss is None  # on a CPU NF4 weights are for training or for inference, not for both
    tensors = _tensors(adapter.path)
    assert {name.rsplit(".", 2)[1] for name in tensors} == {"lora_A", "lora_B"}
    assert any(value.abs().max() > 0 for name, value in tensors.items() if "lora_B" in name)
    assert adapter.trained_parameter_count == 64 * (4 * 64 + 3 * 96)


@pytest.mark.parametrize(
    ("error", "kind", "told"),
    [
        (MemoryError(), UserError, "^training smoke ran out of memory: no memory left; use a larger machine, or lower"),
        (RuntimeError("shapes differ"), RuntimeError, "^shapes differ$"),
    ],
)
def test_out_of_memory_is_a_user_error_and_others_stay(world, tmp_path, error, kind, told):
    def break_off(_):
        raise error

    with pytest.raises(kind, match=told):
        _train(SMOKE, world, tmp_path / "model", tokenizer=world / "tokenizer", on_log=break_off)
