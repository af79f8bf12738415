"""Whether a training fits on a machine, said before it loads anything."""

import json
import shutil
from types import SimpleNamespace

import pytest

from carryover.tasks.services.errors import UserError
from carryover.tasks.sft import resources
from carryover.tasks.sft.resources import (
    GIB,
    ResourceEstimate,
    can_share,
    check_room,
    check_shares,
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


@pytest.mark.parametrize(
    ("free_bytes", "memory", "said"),
    [
        (0.4, 9.0, "training smoke writes about 0.5 GiB and {folder} has 0.4 GiB free; free some space or choose "
                   "another folder"),
        (0.5, 0.9, "training smoke takes about 1.0 GiB of memory and this machine (no GPU) has 0.9 GiB; use a larger "
                   "machine, or lower batch.max_length or batch.tokens"),
        (0.5, 1.0, None),
    ],
)  # fmt: skip
def test_room_is_what_is_free_on_disk_and_in_memory(tmp_path, monkeypatch, free_bytes, memory, said):
    needed = ResourceEstimate(0, 0, 0, process_bytes=GIB, disk_bytes=GIB // 2)
    monkeypatch.setattr(resources, "estimate_resources", lambda *_: needed)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=int(free_bytes * GIB)))
    (tmp_path / "memory.max").write_text(str(int(memory * GIB)))
    monkeypatch.setattr(resources, "CGROUP_LIMITS", (tmp_path / "memory.max",))
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    folder = tmp_path / "new" / "model"
    if said is None:
        check_room(TRAINING["smoke"], "", folder)
        assert folder.is_dir()
        return
    with pytest.raises(UserError) as caught:
        check_room(TRAINING["smoke"], "", folder)
    assert str(caught.value) == said.format(folder=folder)


def test_sequences_longer_than_a_models_positions_are_refused():
    shape = find_shape(TRAINING["smoke"], "")
    assert shape is not None
    batch = TRAINING["smoke"].batch.model_copy(update={"max_length": shape.max_positions + 1})
    with pytest.raises(UserError) as caught:
        estimate_resources(TRAINING["smoke"].model_copy(update={"batch": batch}), shape)
    assert str(caught.value) == (
        f"training sequences of {shape.max_positions + 1:,} tokens exceed the model's {shape.max_positions:,} "
        "positions; choose a model with more positions with --base-model"
    )


@pytest.mark.parametrize(
    ("packing", "accumulation", "gpu_count", "is_shared"),
    [(True, 8, 4, True), (True, 8, 3, False), (False, 8, 4, False), (False, 1, 1, True)],
)
def test_gpus_share_packed_sequences_of_a_multiple(packing, accumulation, gpu_count, is_shared):
    spec = with_batch(packing=packing, accumulation=accumulation)
    assert can_share(spec, gpu_count) == is_shared
    if is_shared:
        check_shares(spec, gpu_count)
        return
    with pytest.raises(UserError) as caught:
        check_shares(spec, gpu_count)
    assert str(caught.value) == (
        f"training paper cannot be shared by {gpu_count} GPUs: it needs batch.packing and a multiple of {gpu_count} "
        "as batch.accumulation, which is 8; choose another --gpus-per-training"
    )


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


def test_an_end_of_memory_without_words_is_told_and_other_errors_pass():
    with (
        pytest.raises(UserError, match=r"^training paper ran out of memory: no memory left; use"),
        telling_of_memory(PAPER),
    ):
        raise MemoryError
    with pytest.raises(RuntimeError, match="a bug"), telling_of_memory(PAPER):
        raise RuntimeError("a bug")
