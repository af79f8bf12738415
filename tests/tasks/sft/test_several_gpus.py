"""One training over several processes: with the same sequences per step it moves the weights as one process does."""

import json
import subprocess
import sys

import pytest

from carryover.tasks.services.errors import UserError
from carryover.tasks.sft.load import save_untrained
from carryover.tasks.sft.train import TrainingJob, train
from carryover.tasks.sft.train_process import DESCRIPTION_NAME, train_in_process
from carryover.tasks.sft.training_spec import TRAINING, BatchSpec, LoraSpec, OptimizerSpec, TokenizerSpec
from tests.tasks.sft.training import save_taking_conversations

# Dropout draws other numbers in each process, and Muon rounds shards to bfloat16 otherwise than whole matrices.
SPEC = TRAINING["smoke_common"].model_copy(
    update={
        "batch": BatchSpec(max_length=128, packing=True, accumulation=2),
        "lora": LoraSpec(rank=4, alpha=8, dropout=0.0),
        "optimizer": OptimizerSpec(learning_rate=3e-3),
        "gradient_checkpointing": True,
        "max_steps": 6,
        "logging_steps": 2,
        "save_steps": 2,
        "validation_share": 0.2,
    }
)
SHARDED = """
import sys

import torch.distributed
from accelerate.state import PartialState
from accelerate.utils import DistributedType

from carryover.tasks.sft.train_process import main

torch.distributed.init_process_group("gloo")
PartialState._prepare_backend = lambda *_: ("gloo", DistributedType.MULTI_GPU)
sys.exit(main(sys.argv[1:]))
"""
"""One of several processes; accelerate shards on GPUs alone, and here takes the processor for one."""


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    """An adapter's training of some 10 packed sequences per pass."""
    root = tmp_path_factory.mktemp("several")
    save_taking_conversations(60, root, TokenizerSpec(vocabulary_size=300))
    shape = TRAINING["smoke"].architecture
    assert shape is not None
    base = save_untrained(shape, root / "tokenizer", root / "base", seed=1)
    return TrainingJob(
        spec=SPEC, dataset=root / "data.jsonl", output=root / "one", contract="stateless", seed=3, base_model=str(base)
    )


@pytest.fixture(scope="module")
def alone(job):
    """The training by one process."""
    return train(job)


def _shared(job, name):
    return job.model_copy(update={"output": job.output.with_name(name), "gpu_count": 2})


def _tensors(trained):
    from safetensors.torch import load_file

    return load_file(trained.path / "adapter_model.safetensors")


def _assert_equal(trained, alone):
    assert (trained.step_count, trained.token_count) == (alone.step_count, alone.token_count)
    for mine, theirs in zip(trained.metrics, alone.metrics, strict=True):
        assert mine.loss == pytest.approx(theirs.loss, rel=1e-4)
        assert mine.gradient_norm == pytest.approx(theirs.gradient_norm, rel=1e-3)
        assert mine.validation_loss == (theirs.validation_loss and pytest.approx(theirs.validation_loss, rel=1e-4))
    mine, theirs = _tensors(trained), _tensors(alone)
    assert mine.keys() == theirs.keys()
    assert max((mine[name] - theirs[name]).abs().max() for name in mine) < 1e-4
    assert any(value.abs().max() > 1e-3 for name, value in mine.items() if "lora_B" in name)


def _identity(job):
    """Return what a training's folder is claimed for."""
    told = {}

    def look(claimed):
        told.update(json.loads((claimed.output / "training.json").read_text(encoding="utf-8")))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(job, compute=look)
    return told


def test_a_folder_is_claimed_for_the_count_of_processes(job):
    shared = _shared(job, "claimed-by-two")
    one = shared.model_copy(update={"output": job.output.with_name("claimed-by-one"), "gpu_count": 1})
    assert _identity(shared) == {**_identity(one), "gpu_count": 2}


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_two_processes_train_what_one_trains(job, alone):
    told = []
    trained = train_in_process(_shared(job, "two"), told.append)
    _assert_equal(trained, alone)
    assert trained.device == "2 x cpu"
    assert [metric.optimizer_step for metric in told] == [1, 2, 3, 4, 5, 6]


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_two_interrupted_processes_go_on_from_their_checkpoint(job, alone):
    shared = _shared(job, "broken")

    def interrupt(metric):
        if metric.optimizer_step >= 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_in_process(shared, interrupt, poll_seconds=0.01)
    _assert_equal(train_in_process(shared), alone)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_sharded_weights_train_to_the_same_adapter(job, alone, monkeypatch):
    _assert_equal(_train_sharded(job, monkeypatch), alone)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_shards_beside_quantized_weights_train_to_the_same_adapter(job, monkeypatch):
    paper = {"method": "qlora", "precision": "bfloat16", "validation_share": 0.0}
    quantized = job.model_copy(
        update={"spec": SPEC.model_copy(update=paper), "output": job.output.with_name("quantized")}
    )
    alone = train(quantized)
    _assert_equal(_train_sharded(quantized, monkeypatch), alone)


def _train_sharded(job, monkeypatch):
    """Train over two processes with a shard each, and read what they left."""
    shared = _shared(job, f"{job.output.name}-sharded")
    shared.output.mkdir()
    (shared.output / DESCRIPTION_NAME).write_text(shared.model_dump_json())
    (shared.output / "rank.py").write_text(SHARDED)
    monkeypatch.setenv("ACCELERATE_TORCH_DEVICE", "cpu")
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    ranks = [*launch, shared.output / "rank.py", shared.output / DESCRIPTION_NAME, "--as-one-of-several"]
    subprocess.run(ranks, check=True)
    return train(shared)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_what_one_of_two_processes_refuses_is_one_line(job):
    missing = _shared(job, "missing").model_copy(update={"base_model": "/nowhere/base"})
    with pytest.raises(UserError, match=r"^base model not found: /nowhere/base"):
        train_in_process(missing)


@pytest.mark.parametrize(("batch", "gpu_count"), [({"accumulation": 4}, 3), ({"packing": False, "accumulation": 2}, 2)])
def test_a_step_that_cannot_be_shared_out_is_refused(job, batch, gpu_count):
    spec = SPEC.model_copy(update={"batch": SPEC.batch.model_copy(update=batch)})
    with pytest.raises(UserError, match=rf"cannot be shared by {gpu_count} GPUs.*--gpus-per-training"):
        train(job.model_copy(update={"spec": spec, "gpu_count": gpu_count}))
