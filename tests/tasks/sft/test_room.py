"""Whether a training fits on a machine, said before it loads anything."""

import json

import pytest

from carryover.tasks.services.errors import UserError
from carryover.tasks.sft.resources import (
    GIB,
    check_room,
    estimate_resources,
    find_shape,
    smallest_limit,
    telling_of_memory,
    unknown_size,
)
from carryover.tasks.sft.train import TrainingJob, train
from carryover.tasks.sft.training_spec import TRAINING, BatchSpec
from tests.tasks.sft.training import SMOKE

PAPER = TRAINING["paper"].model_copy(update={"base_revision": None})
QWEN3 = {
    "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1,
    "intermediate_size": 16, "vocab_size": 10, "max_position_embeddings": 64, "tie_word_embeddings": True,
}  # fmt: skip


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """An empty cache of the hub, which cannot be reached."""
    folder = tmp_path / "hub"
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(folder))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    return folder


def keep(cache, model, name, text):
    """Put a file of a model into the cache as a download does."""
    model_folder = cache / f"models--{model.replace('/', '--')}"
    snapshot = model_folder / "snapshots" / "0000"
    snapshot.mkdir(parents=True, exist_ok=True)
    (snapshot / name).write_text(text)
    (model_folder / "refs").mkdir(exist_ok=True)
    (model_folder / "refs" / "main").write_text("0000")


def with_batch(**changes):
    return PAPER.model_copy(update={"batch": PAPER.batch.model_copy(update=changes)})


def test_what_a_training_writes_must_fit_on_its_disk(tmp_path):
    many = PAPER.model_copy(update={"kept_checkpoints": 10**6})
    with pytest.raises(UserError, match=r"training paper writes about .* GiB free"):
        check_room(many, "Qwen/Qwen3-8B", tmp_path)


def test_a_training_must_fit_into_the_memory(tmp_path):
    with pytest.raises(UserError, match="GiB of memory and"):
        check_room(with_batch(sequences=10**5), "Qwen/Qwen3-8B", tmp_path / "model")


def test_a_cpu_training_is_refused_by_its_longest_conversation(world, tmp_path, monkeypatch):
    (tmp_path / "memory.max").write_text("1")
    monkeypatch.setattr("carryover.tasks.sft.resources.CGROUP_LIMITS", (tmp_path / "memory.max",))
    assert SMOKE.architecture is not None
    architecture = SMOKE.architecture.model_copy(update={"max_positions": 200_000})
    batch = BatchSpec(max_length=200_000, packing=False, tokens=64)
    spec = SMOKE.model_copy(update={"architecture": architecture, "batch": batch})
    job = TrainingJob(
        spec=spec, dataset=world / "data.jsonl", output=tmp_path / "model", contract="stateless", seed=1,
        tokenizer=world / "tokenizer",
    )  # fmt: skip
    shape = find_shape(spec, str(world / "tokenizer"))
    assert shape is not None
    taken = estimate_resources(spec, shape, longest=64).memory_bytes
    assert estimate_resources(spec, shape).memory_bytes > 2 * taken
    with pytest.raises(UserError, match=f"takes about {taken / GIB:.1f} GiB of memory and this machine"):
        train(job)


def test_a_small_model_fits(tmp_path):
    check_room(TRAINING["smoke"], "", tmp_path)


def test_a_hub_model_s_size_is_in_its_config(cache):
    keep(cache, "some/body", "config.json", json.dumps(QWEN3))
    shape = find_shape(PAPER, "some/body")
    assert shape is not None
    assert (shape.hidden_size, shape.layer_count) == (8, 2)
    assert unknown_size(PAPER, "some/body") is None


def test_another_architecture_is_named_and_trained_unchecked(tmp_path, cache):
    keep(cache, "some/body", "config.json", json.dumps({"n_embd": 8}))
    assert unknown_size(PAPER, "some/body") == (
        "base model some/body of unknown size (its config.json lacks a number); "
        "disk and memory check skipped for training paper"
    )
    check_room(PAPER.model_copy(update={"kept_checkpoints": 10**6}), "some/body", tmp_path)


def test_a_model_that_is_nowhere_is_one_line(tmp_path):
    with pytest.raises(UserError, match=r"no usable base model no/body on the hub, or the hub cannot be reached"):
        unknown_size(PAPER, "no/body")
    with pytest.raises(UserError, match=r"no usable base model .* in that folder"):
        unknown_size(PAPER, str(tmp_path))


@pytest.mark.parametrize(("limit", "usable"), [("3000\n", 3000), ("9223372036854771712\n", 8000), ("max\n", 8000)])
def test_a_lower_container_limit_replaces_the_machines_memory(tmp_path, limit, usable):
    (tmp_path / "memory.max").write_text(limit)
    assert smallest_limit(8000, [tmp_path / "memory.max", tmp_path / "not there"]) == usable


def test_what_torch_says_without_memory_is_told_in_a_line():
    import torch

    refusals = (
        torch.OutOfMemoryError("CUDA out of memory.\nTried to allocate 2.00 GiB."),
        RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried 9 bytes."),
    )
    for refusal in refusals:
        with (
            pytest.raises(
                UserError, match=r"^training paper ran out of memory: [^\n]*; use a larger machine, or lower"
            ),
            telling_of_memory(PAPER),
        ):
            raise refusal
