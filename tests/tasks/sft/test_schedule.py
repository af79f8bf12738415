"""Learning rates over a training."""

import pytest

from carryover.tasks.services.hub import load_tokenizer
from carryover.tasks.sft.load import new_model
from carryover.tasks.sft.prepare import PreparedData
from carryover.tasks.sft.tokenizer import build_tokenizer
from carryover.tasks.sft.trainer import open_trainer
from carryover.tasks.sft.training_log import log_callback
from carryover.tasks.sft.training_spec import TRAINING, ArchitectureSpec, TokenizerSpec

SHAPE = ArchitectureSpec(hidden_size=32, layer_count=1, head_size=16, intermediate_size=64)
STEPS = 10


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    return load_tokenizer(build_tokenizer(["a"], TokenizerSpec(vocabulary_size=259), tmp_path_factory.mktemp("t")))


@pytest.mark.parametrize("final_ratio", [0.0, 0.5])
def test_trapezoid_falls_to_its_final_ratio(tokenizer, tmp_path, final_ratio):
    from datasets import Dataset

    changes = {"schedule": "trapezoid", "warmup_ratio": 0.2, "decay_ratio": 0.4, "final_ratio": final_ratio}
    smoke = TRAINING["smoke"]
    spec = smoke.model_copy(update={"optimizer": smoke.optimizer.model_copy(update=changes)})
    data = PreparedData(Dataset.from_list([{"input_ids": [5, 6], "labels": [5, 6]}]), None, token_count=2, longest=2)
    callback = log_callback(tmp_path / "log.jsonl", None)
    trainer = open_trainer(
        spec, new_model(SHAPE, tokenizer, 0), tokenizer, data, checkpoints=tmp_path, seed=0, callback=callback
    )
    schedule = trainer.create_scheduler(STEPS, trainer.create_optimizer())
    shares = []
    for _ in range(STEPS + 1):
        shares.append(schedule.get_last_lr()[0] / schedule.base_lrs[0])
        schedule.step()
    assert shares[:3] == pytest.approx([final_ratio, (1 + final_ratio) / 2, 1.0])
    assert shares[3:7] == pytest.approx([1.0] * 4)
    assert shares[8] == pytest.approx((1 + final_ratio) / 2)
    assert shares[-1] == pytest.approx(final_ratio)
