"""A model is the plan's only where the plan's training data made it."""

import hashlib
from contextlib import contextmanager

import pytest

from carryover.storage.zone.landing import LandingZone
from carryover.tasks import train
from carryover.tasks.plans.identity import Stage
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits
from carryover.tasks.plans.shards import tokenizer_identity
from carryover.tasks.plans.study_plan import OwnBaseSpec
from carryover.tasks.services.errors import UserError
from carryover.tasks.sft.card import write_card
from carryover.tasks.sft.train import read_trained
from carryover.tasks.sft.training_log import TrainingMetric
from carryover.tasks.sft.training_spec import TRAINING
from carryover.tasks.stages.runs import start_run
from carryover.tasks.stages.stage_results import note_stage
from carryover.tasks.stages.training_data import TrainingData
from carryover.tasks.train import (
    TrainedFolder,
    describe,
    find_trained,
    note_training,
    plan_training,
    submit_training,
    train_model,
    unknown_sizes,
)
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
    folder.mkdir(parents=True, exist_ok=True)
    card = make_card(spec=part.training, plan_digest=run.plan.digest, dataset_digest=hashlib.sha256(data).hexdigest())
    write_card(folder, card)
    return folder


def test_a_finished_model_of_equal_identity_is_kept(run, part):
    folder = finish_training(run, part, DATA)
    trained = train_model.fn(run, plan_training(run, part, "persistent", 0, None))
    assert trained == TrainedFolder(path=folder.relative_to(run.home), digest="f" * 64)
    (row,) = LandingZone(run.landing).read("training_runs").to_pylist()
    assert (row["dataset_id"], row["model_digest"]) == ("data", "f" * 64)


def test_a_refreshed_training_leaves_nothing_of_the_finished_one(run, part, monkeypatch):
    finish_training(run, part, DATA)
    planned = plan_training(run, part, "persistent", 0, None)
    refreshing = run.model_copy(update={"limits": Limits(refresh=(Stage.TRAINING,))})
    trained = []

    def train_in_process(job, on_log, check):
        trained.append(planned.is_finished)
        return read_trained(finish_training(run, part, DATA))

    monkeypatch.setattr(train, "train_in_process", train_in_process)
    train_model.fn(refreshing, planned)
    assert trained == [False]


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
    own_base = OwnBaseSpec(corpus="plain", instances=part.train_instances, training=part.training)
    assert unknown_sizes([of_hub.model_copy(update={"own_base": own_base})]) == []


def test_base_and_tokenizer_count_by_content_not_path(run, part, tmp_path):
    def identities(name, weights, words, revision=None):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.safetensors").write_bytes(weights)
        (tmp_path / name / "tokenizer.json").write_bytes(words)
        base = {"base_model": str(tmp_path / name), "base_revision": revision, "base_title": name}
        training = TRAINING["paper"].model_copy(update=base)
        of_folder = part.model_copy(update={"training": training})
        return plan_training(run, of_folder, "persistent", 0, None).identity, tokenizer_identity(of_folder, None)

    first = identities("first", b"1", b"a")
    assert identities("moved", b"1", b"a") == first
    assert identities("pinned", b"1", b"a", revision="b968826") == first
    other_weights, same_words = identities("trained", b"2", b"a")
    assert other_weights != first[0]
    assert same_words == first[1]
    assert set(identities("relearned", b"1", b"b")).isdisjoint(first)


def test_a_bar_of_a_base_names_it(run, part, monkeypatch):
    shown = []

    @contextmanager
    def open_bar(label, total, unit):
        shown.append(label)
        yield lambda count, words: None

    metric = TrainingMetric(
        optimizer_step=1, total_steps=1, epoch=1.0, loss=1.0, learning_rate=1e-4, gradient_norm=None, token_count=1,
        wall_seconds=1.0,
    )  # fmt: skip
    monkeypatch.setattr(train, "shown_progress", open_bar)
    monkeypatch.setattr(train, "train_in_process", lambda job, on_log, check: on_log(metric))
    planned = plan_training(run, part, "persistent", 0, None)
    job = planned.job.model_copy(update={"contract": None})
    train._train_with_progress(run, planned.model_copy(update={"job": job, "base": "common"}))
    assert shown == ["main, training the common base"]


@pytest.fixture
def asked(monkeypatch):
    """What a training was submitted or called with, by Prefect's options for it."""
    asked = []

    class Played:
        def __call__(self, run, training):
            asked.append(("called", run.limits.refresh, training.name))
            return TrainedFolder(path=training.job.output, digest="e" * 64)

        def submit(self, run, training):
            asked.append(("submitted", run.limits.refresh, training.name))

    def in_run(task, run, stage, **options):
        asked.append((task, stage, options))
        return Played()

    monkeypatch.setattr(train, "in_run", in_run)
    return asked


def test_a_training_is_submitted_as_there_where_its_model_is(run, part, asked):
    planned = plan_training(run, part, "persistent", 0, None)
    submit_training(run, planned)
    finish_training(run, part, DATA)
    submit_training(run, planned)
    bucket = run.model_copy(update={"landing": "s3://bucket/landing"})
    submit_training(bucket, plan_training(run, part, "persistent", 1, None))
    options = [entry[2] for entry in asked if entry[0] is train_model]
    assert options == [{"is_there": is_there, "contract": "persistent"} for is_there in (False, True, True)]
    assert asked[1] == ("submitted", (), planned.name)


def test_a_refreshed_training_is_refreshed_once(run, part, asked):
    planned = plan_training(run, part, "persistent", 0, None)
    again = run.model_copy(update={"limits": Limits(refresh=(Stage.TRAINING,))})
    submit_training(again, planned)
    submit_training(again, planned)
    assert [entry[1] for entry in asked if entry[0] == "submitted"] == [(Stage.TRAINING,), ()]


def test_a_noted_model_is_trained_again_if_gone(run, part, asked, monkeypatch):
    planned = plan_training(run, part, "persistent", 0, None)
    trained = TrainedFolder(path=planned.job.output, digest="d" * 64)
    note_training(run, planned, trained)
    assert asked == []
    assert find_trained(run, planned.name).digest == "d" * 64
    monkeypatch.setattr(train, "has_objects", lambda *_: False)
    note_training(run, planned, trained)
    assert asked == [
        (train_model, Stage.TRAINING, {"is_there": False, "contract": "persistent"}),
        ("called", (), planned.name),
    ]
    assert find_trained(run, planned.name).digest == "e" * 64


@pytest.mark.parametrize(("stage", "command"), [(Stage.TRAINING, "train"), (Stage.REINFORCEMENT, "reinforce")])
def test_a_missing_model_names_the_stage_to_run(run, stage, command):
    said = f"^plan smoke has no trained model nowhere; run `carryover stage {command}-models` first$"
    with pytest.raises(UserError, match=said):
        find_trained(run, "nowhere", stage)


def test_a_landed_training_says_what_it_was(run, part):
    folder = finish_training(run, part, DATA)
    planned = plan_training(run, part, "persistent", 0, None)
    train_model.fn(run, planned)
    (row,) = LandingZone(run.landing).read("training_runs").to_pylist()
    told = {
        name: row[name] for name in ("run_id", "training_run_id", "variant", "base", "training_seed", "output_path")
    }
    assert told == {
        "run_id": run.run_id, "training_run_id": folder.name, "variant": part.variant, "base": part.base,
        "training_seed": 0, "output_path": str(folder),
    }  # fmt: skip
    assert row["settings_json"] == part.training.model_dump_json()
