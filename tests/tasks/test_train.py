"""A model is the plan's only where the plan's training data made it."""

import hashlib
from contextlib import contextmanager

import pytest

from carryover.storage.zone.landing import LandingZone
from carryover.tasks.plans.identity import Stage
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits
from carryover.tasks.plans.shards import tokenizer_identity
from carryover.tasks.sft.card import write_card
from carryover.tasks.sft.train import read_trained
from carryover.tasks.sft.training_log import TrainingMetric
from carryover.tasks.sft.training_spec import TRAINING
from carryover.tasks.stages.runs import start_run
from carryover.tasks.stages.stage_results import note_stage
from carryover.tasks.stages.training_data import TrainingData
from carryover.tasks.train import TrainedFolder, describe, plan_training, train_model, unknown_sizes
from tests.tasks.cards import make_card

DATA = b'{"messages": []}\n'


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path))
    with start_run("train_models", resolve_plan("smoke"), Limits()) as opened:
        yield opened


@pytest.fixture
def part(run, tmp_path):
    """The plan's part, with its training data noted."""
    (part,) = run.plan.parts
    path = tmp_path / "persistent.jsonl"
    path.write_bytes(DATA)
    digests = {"persistent": hashlib.sha256(DATA).hexdigest()}
    data = TrainingData(dataset_id="data", paths={"persistent": path}, digests=digests, tokens={})
    note_stage(run, Stage.DATA, part.variant, "digest", data)
    return part


def finish_training(run, part, data):
    """Leave what a finished training on the given data leaves: its card."""
    training = plan_training(run, part, "persistent", 0, None)
    folder = training.job.output
    folder.mkdir(parents=True)
    card = make_card(spec=part.training, plan_digest=run.plan.digest, dataset_digest=hashlib.sha256(data).hexdigest())
    write_card(folder, card)
    return folder


def test_a_finished_model_of_equal_identity_is_kept(run, part):
    folder = finish_training(run, part, DATA)
    trained = train_model.fn(run, plan_training(run, part, "persistent", 0, None))
    assert trained == TrainedFolder(path=folder.relative_to(run.home), digest="f" * 64)
    (row,) = LandingZone(run.landing).read("training_runs").to_pylist()
    assert (row["dataset_id"], row["model_digest"]) == ("data", "f" * 64)


def test_other_data_are_trained_on_in_another_folder(run, part, tmp_path):
    planned = plan_training(run, part, "persistent", 0, None)
    (tmp_path / "persistent.jsonl").write_bytes(other_data := b'{"messages": [1]}\n')
    other = {"persistent": hashlib.sha256(other_data).hexdigest()}
    data = TrainingData(dataset_id="b", paths={"persistent": tmp_path / "persistent.jsonl"}, digests=other, tokens={})
    note_stage(run, Stage.DATA, part.variant, "other", data)
    assert plan_training(run, part, "persistent", 0, None).job.output != planned.job.output


def test_a_bar_tells_what_a_logging_step_saw():
    metric = TrainingMetric(
        optimizer_step=10, total_steps=20, epoch=0.5, loss=1.23456, learning_rate=2e-4, gradient_norm=None,
        token_count=35_000, wall_seconds=12.4,
    )  # fmt: skip
    assert describe(metric) == "loss 1.235, rate 2.0e-04, 35,000 tokens in 12 s"
    assert ", gradient 0.50, " in describe(metric.model_copy(update={"gradient_norm": 0.5}))


def test_a_bar_goes_on_with_every_logging_step(run, part, tmp_path, monkeypatch):
    metrics = [
        TrainingMetric(
            optimizer_step=step, total_steps=30, epoch=0.1, loss=3.0 / step, learning_rate=1e-4, gradient_norm=2.0,
            token_count=100 * step, wall_seconds=1.0 * step,
        )
        for step in (10, 20, 30)
    ]  # fmt: skip
    shown = []

    @contextmanager
    def open_bar(label, total, unit):
        shown.append((label, total, unit))
        yield lambda count, words: shown.append((count, words))

    def train_in_process(job, on_log, check):
        check()
        for metric in metrics:
            on_log(metric)
        return read_trained(finish_training(run, part, DATA))

    monkeypatch.setattr("carryover.tasks.train.shown_progress", open_bar)
    monkeypatch.setattr("carryover.tasks.train.train_in_process", train_in_process)
    train_model.fn(run, plan_training(run, part, "persistent", 0, None))
    assert shown == [
        ("main, training persistent seed 0", 30, "steps"),
        *((10, describe(metric)) for metric in metrics),
    ]


def test_only_a_base_of_unknown_size_is_named_once(part, tmp_path):
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "config.json").write_text('{"n_embd": 8}')
    training = TRAINING["paper"].model_copy(update={"base_model": str(tmp_path / "base")})
    of_hub = part.model_copy(update={"training": training})
    (line,) = unknown_sizes([part, of_hub, of_hub])
    assert line.startswith(f"base model {tmp_path / 'base'} of unknown size")


def test_base_and_tokenizer_count_by_content_not_path(run, part, tmp_path):
    def identities(name, weights, words):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.safetensors").write_bytes(weights)
        (tmp_path / name / "tokenizer.json").write_bytes(words)
        training = TRAINING["paper"].model_copy(update={"base_model": str(tmp_path / name), "base_revision": None})
        of_folder = part.model_copy(update={"training": training})
        return plan_training(run, of_folder, "persistent", 0, None).identity, tokenizer_identity(of_folder, None)

    first = identities("first", b"1", b"a")
    assert identities("moved", b"1", b"a") == first
    other_weights, same_words = identities("trained", b"2", b"a")
    assert other_weights != first[0]
    assert same_words == first[1]
    assert set(identities("relearned", b"1", b"b")).isdisjoint(first)
