"""What is gone from a shared landing zone is made anew, although Prefect has cached it."""

from types import SimpleNamespace

import pytest

from carryover.storage.zone.files import FileStore
from carryover.storage.zone.objects import keep_file
from carryover.tasks import prepare, provide_tokenizer, train
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits
from carryover.tasks.stages.runs import start_run
from carryover.tasks.stages.training_data import TrainingData
from tests.tasks.test_train import DATA, finish_training


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run whose landing zone lies outside of its data folder, with every stage's results cached."""
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CARRYOVER_LANDING", str(tmp_path / "landing"))
    results = {}

    def in_run(task, run, stage, *, is_there=True, contract=None):
        def call(*inputs):
            if not is_there or stage not in results:
                results[stage] = task.fn(*inputs)
            return results[stage]

        return call

    for module in (prepare, provide_tokenizer, train):
        monkeypatch.setattr(module, "in_run", in_run)
    with start_run("toy", resolve_plan("smoke"), Limits()) as run:
        yield run


def lose_objects(run):
    """Remove every object, and return their names."""
    store = FileStore(run.landing)
    objects = {file.path for file in store.find("objects") if not file.path.endswith(".generation")}
    for path in objects:
        store.remove(path)
    return objects


def write_data(run):
    """Write training data of one contract, and keep them for other workers."""
    path = run.folders.datasets / "data" / "persistent.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(DATA)
    digests = {"persistent": keep_file(run.folders, path)}
    return TrainingData(dataset_id="data", paths={"persistent": path.relative_to(run.home)}, digests=digests, tokens={})


def test_a_lost_tokenizer_is_made_anew(run, monkeypatch):
    folder = run.folders.datasets / "tokenizer"
    folder.mkdir(parents=True)
    (folder / "tokenizer.json").write_text("{}")
    monkeypatch.setattr(provide_tokenizer, "make_tokenizer", lambda *_: folder)
    assert provide_tokenizer.open_tokenizer(run, run.plan.parts[0]) == folder
    assert len(objects := lose_objects(run)) == 1
    assert provide_tokenizer.open_tokenizer(run, run.plan.parts[0]) == folder
    assert lose_objects(run) == objects


def test_lost_training_data_are_made_anew(run, tmp_path, monkeypatch):
    monkeypatch.setattr(prepare, "tokenizer_identity", lambda *_: "tokenizer")
    monkeypatch.setattr(prepare, "trace_ids", lambda *_: ["trace"])
    monkeypatch.setattr(prepare, "prepare_training_data", SimpleNamespace(fn=lambda run, *_: write_data(run)))
    data = prepare.provide_training_data(run, run.plan.parts[0], tmp_path)
    assert len(objects := lose_objects(run)) == 1
    assert prepare.provide_training_data(run, run.plan.parts[0], tmp_path) == data
    assert lose_objects(run) == objects


def test_changed_training_data_are_made_anew(run, tmp_path, monkeypatch):
    monkeypatch.setattr(prepare, "tokenizer_identity", lambda *_: "tokenizer")
    monkeypatch.setattr(prepare, "trace_ids", lambda *_: ["trace"])
    monkeypatch.setattr(prepare, "prepare_training_data", SimpleNamespace(fn=lambda run, *_: write_data(run)))
    data = prepare.provide_training_data(run, run.plan.parts[0], tmp_path)
    path = run.home / data.paths["persistent"]
    path.write_bytes(DATA + DATA)
    assert prepare.provide_training_data(run, run.plan.parts[0], tmp_path) == data
    assert path.read_bytes() == DATA


def test_a_lost_model_is_kept_again_before_it_is_noted(run, monkeypatch):
    data = write_data(run).opened(run.folders)
    monkeypatch.setattr(train, "read_training_data", lambda *_: data)
    finish_training(run, run.plan.parts[0], DATA)
    training = train.plan_training(run, run.plan.parts[0], "persistent", 0, None)
    lose_objects(run)
    trained = train.train_model.fn(run, training)
    assert (objects := lose_objects(run))
    train.note_training(run, training, trained)
    assert lose_objects(run) == objects


def test_a_lost_model_is_trained_whatever_prefect_remembers(run, monkeypatch):
    data = write_data(run).opened(run.folders)
    monkeypatch.setattr(train, "read_training_data", lambda *_: data)
    finish_training(run, run.plan.parts[0], DATA)
    training = train.plan_training(run, run.plan.parts[0], "persistent", 0, None)
    trained = train.train_model.fn(run, training)
    asked = []
    monkeypatch.setattr(train, "in_run", lambda *_, **options: asked.append(options) or (lambda *_: trained))
    train.note_training(run, training, trained)
    assert asked == []
    lose_objects(run)
    train.note_training(run, training, trained)
    assert asked == [{"is_there": False, "contract": "persistent"}]
