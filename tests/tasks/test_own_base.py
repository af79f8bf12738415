"""A base of the study's own and an adapter on it, at the smallest size."""

import json

import pytest

from carryover.storage.zone.landing import LandingZone
from carryover.tasks.datasets.plain_corpus import write_plain_corpus
from carryover.tasks.plans.identity import Stage
from carryover.tasks.plans.laptop_full import laptop_part
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits
from carryover.tasks.plans.study_plan import InstanceSetSpec, OwnBaseSpec
from carryover.tasks.serve import find_models
from carryover.tasks.services.whole_files import digest_of_file
from carryover.tasks.sft.tokenizer import build_tokenizer
from carryover.tasks.sft.training_spec import TRAINING, TokenizerSpec
from carryover.tasks.stages.runs import start_run
from carryover.tasks.stages.stage_results import note_stage
from carryover.tasks.stages.training_data import TrainingData, write_base_corpus
from carryover.tasks.traces.vocabulary import ContractName
from carryover.tasks.train import TrainedFolder, find_trained, note_training, plan_training, train_model

SHORT = {"max_steps": 2, "logging_steps": 1, "save_steps": 2, "evaluation_steps": 2}
PLAIN = OwnBaseSpec(
    corpus="plain",
    instances=InstanceSetSpec(bucket="small", split="train", count=6, first_seed=0),
    training=TRAINING["smoke"].model_copy(update=SHORT),
)


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path))
    with start_run("train_models", resolve_plan("smoke"), Limits()) as opened:
        yield opened


def based_part(own_base, base="common"):
    return laptop_part(base=base, own_base=own_base, training=TRAINING["smoke_common"].model_copy(update=SHORT))


def note_training_data(run, part, folder):
    """Note a file per contract as the part's training data, and return the files."""
    paths = {contract: folder / f"{contract}.jsonl" for contract in part.teacher.contracts}
    for path in paths.values():
        write_plain_corpus(path, "small", range(4))
    digests = {contract: digest_of_file(path) for contract, path in paths.items()}
    data = TrainingData(dataset_id="data", paths=paths, digests=digests, tokens={})
    note_stage(run, Stage.DATA, part.variant, "digest", data)
    return paths


@pytest.mark.slow
def test_adapters_sit_on_a_base_that_knows_no_contract(run, tmp_path):
    part = based_part(PLAIN)
    note_training_data(run, part, tmp_path)
    tokenizer = build_tokenizer(["Fill the knapsack."], TokenizerSpec(vocabulary_size=300), tmp_path / "tokenizer")
    for contract in (None, *part.teacher.contracts):
        training = plan_training(run, part, contract, 0, tokenizer)
        note_training(run, training, train_model.fn(run, training))
    models = find_models.fn(run, part, tokenizer)
    assert [(model.kind, model.train_contract) for model in models] == [
        ("base", None),
        ("adapter", "persistent"),
        ("adapter", "stateless"),
    ]
    assert models[0].path == str(find_trained(run, "main-common-base-0").path)
    landed = LandingZone(run.landing).scan("training_runs").select("contract", "base").collect()
    assert set(landed.iter_rows()) == {(None, "common"), ("persistent", "common"), ("stateless", "common")}


def test_an_adapter_is_planned_on_the_parts_own_base(run, tmp_path):
    part = based_part(PLAIN)
    note_training_data(run, part, tmp_path)
    identities = set()
    for digest in ("a" * 64, "b" * 64):
        folder = tmp_path / "models" / digest
        folder.mkdir(parents=True)
        noted = TrainedFolder(path=folder.relative_to(run.home), digest=digest)
        note_stage(run, Stage.TRAINING, "main-common-base-0", digest, noted)
        planned = plan_training(run, part, "persistent", 0, None)
        assert planned.job.base_model == str(folder)
        identities.add(planned.identity)
    assert len(identities) == 2


def test_the_base_of_both_contracts_reads_the_traces_of_both(run, tmp_path):
    own_base = OwnBaseSpec(corpus="both", training=PLAIN.training)
    part = based_part(own_base, base="both")
    paths = note_training_data(run, part, tmp_path)
    lines = write_base_corpus(run, part, own_base).read_text().splitlines()
    assert len(lines) == 8
    assert json.loads(lines[0]) == json.loads(paths[ContractName.PERSISTENT].read_text().splitlines()[0])
