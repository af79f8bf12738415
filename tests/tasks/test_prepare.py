import pytest

from carryover.storage.zone.landing import LandingZone
from carryover.tasks.agent.client import EndpointClientSpec
from carryover.tasks.agent.episode_spec import EndpointSpec
from carryover.tasks.checks.suites import FailedChecksError
from carryover.tasks.collect import collect_episodes
from carryover.tasks.datasets.dataset_spec import ValidationSpec
from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits
from carryover.tasks.plans.shards import teacher_shards
from carryover.tasks.services.errors import UserError
from carryover.tasks.sft.tokenizer import build_tokenizer
from carryover.tasks.sft.training_spec import TokenizerSpec
from carryover.tasks.stages.runs import start_run
from carryover.tasks.stages.training_data import read_training_data
from carryover.tasks.traces.result_rows import CheckResultRow
from tests.storage.conftest import build_row
from tests.tasks.made import make_instances, make_training_data

TRAIN_COUNT = 2


@pytest.fixture
def tokenizer(tmp_path, monkeypatch):
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path))
    return build_tokenizer(["a"], TokenizerSpec(vocabulary_size=259), tmp_path / "tokenizer")


@pytest.fixture
def run(tokenizer):
    with start_run("prepare_training", resolve_plan("smoke", Overrides(train_count=TRAIN_COUNT)), Limits()) as run:
        make_instances(run, run.plan.parts[0].train_instances)
        yield run


def test_without_traces_the_flow_that_makes_them_is_named(run, tokenizer):
    (part,) = run.plan.parts
    with pytest.raises(
        UserError, match=r"no teacher traces of plan smoke in .*; run `carryover stage collect-traces` first"
    ):
        make_training_data(run, part, tokenizer)


def collect_traces(run, part, tokenizer):
    for shard in teacher_shards(run, part, tokenizer):
        collect_episodes.fn(run, shard)


def beyond_any(part):
    """The part with a gate that calls any likeness of two steps a loop."""
    return part.model_copy(update={"validation": ValidationSpec(maximum_loop_similarity=0.0)})


@pytest.mark.slow
def test_incomplete_traces_are_not_trained_on(run, tokenizer):
    (part,) = run.plan.parts
    # Two traces are too few to be matched by tokens.
    part = part.model_copy(update={"dataset": part.dataset.model_copy(update={"matching": "episodes"})})
    dead = EndpointClientSpec(endpoint=EndpointSpec(base_url="http://127.0.0.1:9/v1", max_retries=0))

    def prepare():
        return make_training_data(run, part, tokenizer)

    persistent, stateless = teacher_shards(run, part, tokenizer)
    collect_episodes.fn(run, persistent)
    with pytest.raises(UserError, match=r"2 of 4 teacher episodes .* are missing \(0 ended with an error\)"):
        prepare()
    collect_episodes.fn(run, stateless.model_copy(update={"client": dead}))
    with pytest.raises(UserError, match=r"\(2 ended with an error\): nothing is trained on the rest; start again"):
        prepare()
    with pytest.raises(UserError, match="run `carryover stage prepare-training` first"):
        read_training_data(run, part)
    collect_episodes.fn(run, stateless)
    assert prepare().opened(run.folders) == read_training_data(run, part)


def test_failed_gate_gives_reasons_and_leaves_no_data(run, tokenizer):
    (part,) = run.plan.parts
    collect_traces(run, part, tokenizer)
    zone = LandingZone(run.landing)
    strict = beyond_any(part)
    reasons = (
        rf"traces_stateless: .*yield broken by {TRAIN_COUNT}, 0 of {TRAIN_COUNT} valid \(zombie_loop {TRAIN_COUNT}\)"
    )
    with pytest.raises(UserError, match=reasons):
        make_training_data(run, strict, tokenizer)
    with pytest.raises(UserError, match="run `carryover stage prepare-training` first"):
        read_training_data(run, part)
    verdicts = zone.read("trace_verdicts").to_pylist()
    assert [row["reason"] for row in verdicts] == ["zombie_loop"] * 2 * TRAIN_COUNT
    failed = {row["check_name"] for row in zone.read("check_results").to_pylist() if not row["is_passed"]}
    assert failed == {"zombie_loop", "yield"}
    assert zone.read("episodes").num_rows == 2 * TRAIN_COUNT


def test_passed_trace_checks_land_although_example_checks_fail(run, tokenizer, monkeypatch):
    (part,) = run.plan.parts
    part = part.model_copy(update={"dataset": part.dataset.model_copy(update={"matching": "episodes"})})
    collect_traces(run, part, tokenizer)

    def fail(*_arguments, **_options):
        row = build_row(CheckResultRow, run_id=run.run_id, check_run_id="r", suite="examples", is_passed=False)
        raise FailedChecksError("too long", [row])

    monkeypatch.setattr("carryover.tasks.stages.training_data.gate_examples", fail)
    with pytest.raises(FailedChecksError, match="too long"):
        make_training_data(run, part, tokenizer)
    landed = LandingZone(run.landing).read("check_results")
    assert {name.partition("_")[0] for name in landed["suite"].to_pylist()} == {"traces", "examples"}


def test_a_gate_that_fails_takes_back_what_passed_before(run, tokenizer):
    (part,) = run.plan.parts
    # Two traces are too few to be matched by tokens.
    part = part.model_copy(update={"dataset": part.dataset.model_copy(update={"matching": "episodes"})})
    collect_traces(run, part, tokenizer)
    passed = make_training_data(run, part, tokenizer).opened(run.folders)
    assert read_training_data(run, part) == passed
    with pytest.raises(UserError, match="yield broken by"):
        make_training_data(run, beyond_any(part), tokenizer)
    with pytest.raises(UserError, match="run `carryover stage prepare-training` first"):
        read_training_data(run, part)


def test_changed_training_data_are_not_trained_on(run, tokenizer):
    (part,) = run.plan.parts
    part = part.model_copy(update={"dataset": part.dataset.model_copy(update={"matching": "episodes"})})
    collect_traces(run, part, tokenizer)
    data = make_training_data(run, part, tokenizer).opened(run.folders)
    assert data.changed_files() == []
    path = data.paths["stateless"]
    path.write_bytes(path.read_bytes().replace(b"inspect", b"INSPECT"))
    assert data.changed_files() == [path]
    with pytest.raises(
        UserError,
        match=r"gone or changed since they were prepared: .*stateless\.jsonl; run `carryover stage prepare-training`",
    ):
        read_training_data(run, part)
    path.unlink()
    assert data.changed_files() == [path]
