"""A training from data to a loadable model, on a CPU, at a size of seconds."""

import shutil
from functools import cache
from typing import Any

import pytest

from carryover.tasks.services.errors import UserError
from carryover.tasks.services.whole_files import digest_of_file
from carryover.tasks.sft.folder import digest_of_tensors, held
from carryover.tasks.sft.tokenizer import chat_template
from carryover.tasks.sft.training_log import DivergedError
from carryover.tasks.sft.training_spec import LoraSpec
from tests.tasks.sft.training import ADAPTER, PACKED, SMOKE, run_training, small_paper

BROKEN_OFF = [
    "adapter",
    *(pytest.param(name, marks=pytest.mark.slow) for name in ("scratch", "packed", "embedding", "paper")),
]


@pytest.fixture(scope="module")
def trained(world):
    """A finished scratch training."""
    return run_training(SMOKE, world, world / "trained", tokenizer=world / "tokenizer", plan_digest="plan")


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


def test_what_a_training_says_of_itself(trained, world):
    assert [metric.optimizer_step for metric in trained.metrics] == [2, 4, 6]
    assert trained.step_count == trained.metrics[-1].total_steps == 6
    assert trained.token_count == trained.metrics[-1].token_count > 0
    assert trained.final_loss < trained.metrics[0].loss
    assert all(metric.gradient_norm is not None for metric in trained.metrics)
    assert all(0 < (metric.token_accuracy or 0) < 1 and (metric.entropy or 0) > 0 for metric in trained.metrics)
    metrics = trained.metrics[-1]
    assert dict(trained) == {
        "path": world / "trained", "contract": "persistent", "kind": "checkpoint", "base_model": "untrained",
        "spec": SMOKE, "seed": 0, "plan_digest": "plan", "dataset_digest": digest_of_file(world / "data.jsonl"),
        "example_count": 60, "model_digest": digest_of_tensors(trained.path),
        "parameter_count": trained.parameter_count, "trained_parameter_count": trained.parameter_count,
        "token_count": metrics.token_count, "step_count": 6, "final_loss": metrics.loss, "validation_loss": None,
        "device": trained.device, "attention": "sdpa", "varying_operations": trained.varying_operations,
        "wall_seconds": metrics.wall_seconds, "started_at": trained.started_at, "metrics": trained.metrics,
    }  # fmt: skip
    assert (trained.device == "cpu") == (trained.varying_operations is None)
    assert len(list((trained.path / "checkpoints").glob("checkpoint-*"))) == SMOKE.kept_checkpoints


@pytest.mark.slow
def test_a_short_training_has_checkpoints_to_resume_from(world, base, tmp_path):
    spec = PACKED.model_copy(update={"max_steps": 9, "epochs": 3.0, "logging_steps": 10, "save_steps": 100})

    def break_off(metric):
        if metric.optimizer_step == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_training(spec, world, tmp_path / "broken", base_model=base, on_log=break_off)
    assert [path.name for path in (tmp_path / "broken" / "checkpoints").glob("checkpoint-*")] == ["checkpoint-3"]
    resumed = run_training(spec, world, tmp_path / "broken", base_model=base)
    unbroken = run_training(spec, world, tmp_path / "unbroken", base_model=base)
    assert [metric.optimizer_step for metric in resumed.metrics] == [3, 6, 9]
    assert [metric.loss for metric in resumed.metrics] == [metric.loss for metric in unbroken.metrics]
    assert resumed.model_digest == unbroken.model_digest


def test_two_trainings_never_write_into_one_folder(world, tmp_path, monkeypatch):
    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("carryover.tasks.services.whole_files.time.sleep", interrupt)  # it waits
    with held(tmp_path / "model"), pytest.raises(KeyboardInterrupt):
        run_training(SMOKE, world, tmp_path / "model", tokenizer=world / "tokenizer")
    assert not (tmp_path / "model" / "training.json").exists()


@pytest.mark.slow
def test_the_seed_decides_the_weights_to_the_byte(trained, world, tmp_path):
    again = run_training(SMOKE, world, tmp_path / "again", tokenizer=world / "tokenizer")
    other = run_training(SMOKE, world, tmp_path / "other", tokenizer=world / "tokenizer", seed=1)
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
    return small_paper(base).model_copy(update=small) if name == "paper" else specs[name]


def _start(world, base, name):
    return {"tokenizer": world / "tokenizer", "base_model": None if name == "paper" else base}


@pytest.fixture(scope="module")
def unbroken(world, base):
    """A training by name that nothing interrupted; its folder is to be copied by who changes it."""

    @cache
    def train_whole(name):
        return run_training(_name_spec(base, name), world, world / f"unbroken-{name}", **_start(world, base, name))

    return train_whole


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
def test_an_interrupted_training_resumes_to_the_same_weights(name, world, base, unbroken, tmp_path):
    spec = _name_spec(base, name)

    def break_off(metric):
        if metric.optimizer_step == 4:
            raise KeyboardInterrupt

    start = _start(world, base, name)
    with pytest.raises(KeyboardInterrupt):
        run_training(spec, world, tmp_path / "broken", **start, on_log=break_off)
    assert not (tmp_path / "broken" / "carryover.json").exists()
    torn = tmp_path / "broken" / "checkpoints" / "checkpoint-4"
    torn.mkdir(exist_ok=True)
    (torn / "trainer_state.json").write_text('{"global_step": 4, ')  # killed in the middle of writing it
    resumed = run_training(spec, world, tmp_path / "broken", **start)
    _check_equal(resumed, unbroken(name))


@pytest.mark.parametrize("name", BROKEN_OFF)
def test_training_interrupted_after_its_last_step_takes_no_more(name, world, base, unbroken, tmp_path):
    shutil.copytree(unbroken(name).path, tmp_path / "model")
    for path in [tmp_path / "model" / "carryover.json", *(tmp_path / "model").glob("*.safetensors")]:
        path.unlink()
    resumed = run_training(_name_spec(base, name), world, tmp_path / "model", **_start(world, base, name))
    _check_equal(resumed, unbroken(name))


@pytest.mark.slow
def test_a_diverged_training_is_one_line_and_nothing_finished(world, tmp_path):
    optimizer = SMOKE.optimizer.model_copy(update={"kind": "adamw", "learning_rate": 1e30, "warmup_ratio": 0.0})
    spec = SMOKE.model_copy(update={"optimizer": optimizer})
    for _ in range(2):  # nor does another start finish it
        with pytest.raises(
            UserError, match=r"diverged: the gradient norm is nan at optimizer step 2 with .*lower"
        ) as caught:
            run_training(spec, world, tmp_path / "model", tokenizer=world / "tokenizer")
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
        run_training(spec, world, model, tokenizer=world / "tokenizer")
    assert not (model / "carryover.json").exists()
    assert not list(model.glob("*.safetensors"))


def test_a_finished_training_is_returned_as_it_is(trained, world):
    again = run_training(SMOKE, world, trained.path, tokenizer=world / "tokenizer", plan_digest="plan")
    assert again == trained


def test_a_folder_of_another_training_is_refused(trained, world):
    for seed, contract in ((5, "persistent"), (0, "stateless")):
        with pytest.raises(UserError, match=r"training \(start, contract, data, seed or settings differ\)"):
            run_training(SMOKE, world, trained.path, tokenizer=world / "tokenizer", seed=seed, contract=contract)


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
        run_training(SMOKE, world, tmp_path / "model", tokenizer=world / "tokenizer", on_log=break_off)
