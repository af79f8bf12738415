"""A plan's reinforcements start from its trained models, and land a row per update."""

from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from carryover.storage.zone.landing import LandingZone
from carryover.tasks import reinforce
from carryover.tasks.plans.identity import Stage
from carryover.tasks.plans.models import training_name
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits
from carryover.tasks.reinforce import (
    PlannedReinforcement,
    describe,
    note_reinforcement,
    plan_reinforcement,
    reinforce_model,
    submit_reinforcement,
)
from carryover.tasks.reinforcement.update_log import LOG_NAME, UpdateLog
from carryover.tasks.runtime.contract import Contract
from carryover.tasks.services.errors import UserError
from carryover.tasks.sft.card import ModelCard, write_card
from carryover.tasks.stages.runs import start_run
from carryover.tasks.stages.stage_results import note_stage
from carryover.tasks.traces.training_rows import PolicyUpdate
from carryover.tasks.train import TrainedFolder, find_trained
from tests.tasks.cards import make_card

NUMBERS = dict.fromkeys(set(PolicyUpdate.model_fields) - {"policy_update"}, 0.5)
UPDATES = [PolicyUpdate.model_validate({**NUMBERS, "episode_count": 4, "policy_update": one}) for one in (1, 2)]


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run of the smoke study of reinforcement."""
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path))
    monkeypatch.delenv("CARRYOVER_LANDING", raising=False)
    with start_run("reinforce_models", resolve_plan("smoke_rl"), Limits()) as opened:
        yield opened


def parts_of(run):
    """Return the reinforced parts by the runtime that they play in."""
    return {part.reinforcement.runtime: part for part in run.plan.parts if part.reinforcement is not None}


def note_trained(run, contract, digest="f" * 64):
    """Note a model that was trained on a contract; return its folder."""
    name = training_name(run.plan.parts[0], contract, 0)
    folder = run.folders.models / name
    folder.mkdir(parents=True, exist_ok=True)
    trained = TrainedFolder(path=folder.relative_to(run.home), files={}, digest=digest)
    note_stage(run, Stage.TRAINING, name, digest, trained)
    return folder


def test_a_reinforcement_starts_from_the_model_of_its_contract(run):
    folders = {contract: note_trained(run, contract) for contract in ("persistent", "stateless")}
    for runtime, part in parts_of(run).items():
        for contract, folder in folders.items():
            planned = plan_reinforcement(run, part, contract, 0)
            (other,) = set(folders) - {contract}
            assert planned.job.start == folder
            assert planned.job.played.runtime_contract == (contract if runtime == "own" else other)
            assert planned.job.played.bucket == part.train_instances.bucket
            assert (planned.contract, planned.job.seed, planned.job.plan_digest) == (contract, 0, run.plan.digest)
            assert planned.job.output == run.folders.models / f"{planned.name}-{planned.identity}"


def test_a_contract_of_ones_own_is_defined_where_it_is_played(run):
    live = Contract(name="live", lifetime="block", words="Runtime: LIVE.")
    part = parts_of(run)["other"]
    teacher = part.teacher.model_copy(update={"contracts": ("persistent", "live")})
    part = part.model_copy(update={"teacher": teacher, "own_contracts": (live,)})
    note_trained(run, "persistent")
    played = plan_reinforcement(run, part, "persistent", 0).job.played
    assert (played.runtime_contract, played.own_contracts) == ("live", (live,))


def test_another_model_or_runtime_is_another_reinforcement(run):
    note_trained(run, "persistent")
    own, other = (plan_reinforcement(run, parts_of(run)[runtime], "persistent", 0) for runtime in ("own", "other"))
    note_trained(run, "persistent", digest="e" * 64)
    again = plan_reinforcement(run, parts_of(run)["own"], "persistent", 0)
    assert len({own.identity, other.identity, again.identity}) == 3


def test_an_untrained_model_names_the_stage_to_run(run):
    with pytest.raises(UserError, match=r"has no trained model .*; run `carryover stage train-models` first"):
        plan_reinforcement(run, parts_of(run)["own"], "persistent", 0)


def test_a_finished_reinforcement_lands_its_updates(run):
    note_trained(run, "persistent")
    planned = plan_reinforcement(run, parts_of(run)["other"], "persistent", 0)
    planned.job.output.mkdir()
    write_card(planned.job.output, make_card(model_digest="d" * 64))
    log = UpdateLog(planned.job.output / LOG_NAME)
    for each in UPDATES:
        log.add(each)
    made = reinforce_model.fn(run, planned)
    assert (made.digest, run.home / made.path) == ("d" * 64, planned.job.output)
    rows = LandingZone(run.landing).read("policy_updates").to_pylist()
    assert [row["policy_update"] for row in rows] == [1, 2]
    for row in rows:
        assert row["reinforcement_id"] == planned.job.output.name
        assert (row["train_contract"], row["runtime_contract"]) == ("persistent", "stateless")
        assert (row["training_seed"], row["mean_reward"], row["episode_count"]) == (0, 0.5, 4)


def test_a_lost_model_is_reinforced_whatever_prefect_remembers(run, monkeypatch):
    note_trained(run, "persistent")
    planned = plan_reinforcement(run, parts_of(run)["own"], "persistent", 0)
    made = TrainedFolder(path=planned.job.output, files={}, digest="d" * 64)
    asked = []
    monkeypatch.setattr(reinforce, "in_run", lambda *_, **options: asked.append(options) or (lambda *_: made))
    note_reinforcement(run, planned, made)
    assert asked == []
    monkeypatch.setattr(reinforce, "has_objects", lambda *_: False)
    note_reinforcement(run, planned, made)
    assert asked == [{"is_there": False, "contract": "persistent"}]
    assert find_trained(run, planned.name, Stage.REINFORCEMENT).digest == "d" * 64


@pytest.mark.parametrize("refresh", [(), (Stage.REINFORCEMENT,), (Stage.TRAINING,)])
def test_a_finished_model_is_kept_unless_refreshed(run, monkeypatch, refresh):
    note_trained(run, "persistent")
    planned = plan_reinforcement(run, parts_of(run)["own"], "persistent", 0)
    planned.job.output.mkdir()
    write_card(planned.job.output, make_card())
    log = UpdateLog(planned.job.output / LOG_NAME)
    log.add(UPDATES[0])
    begun = []

    def begin(_: object, planned: PlannedReinforcement) -> ModelCard:
        begun.append(planned.job.is_finished)
        log.add(UPDATES[1])
        return make_card()

    monkeypatch.setattr(reinforce, "_reinforce_with_progress", begin)
    reinforce_model.fn(run.model_copy(update={"limits": Limits(refresh=refresh)}), planned)
    assert begun == [False] * (Stage.REINFORCEMENT in refresh)


def test_a_bar_tells_shares_scores_turns_and_tokens():
    update = UPDATES[0].model_copy(update={"mean_reply_count": 3.25, "mean_tokens": 1234.4})
    assert describe(update) == "50% miss a name, score 0.500, 3.2 turns, 1,234 tokens"


def test_a_reinforcement_is_submitted_as_there_where_its_model_is(run, monkeypatch):
    note_trained(run, "persistent")
    planned = plan_reinforcement(run, parts_of(run)["own"], "persistent", 0)
    asked = []

    def in_run(task, run, stage, **options):
        asked.append((task, stage, options))
        return SimpleNamespace(submit=lambda run, planned: asked.append((run.limits.refresh, planned.name)))

    monkeypatch.setattr(reinforce, "in_run", in_run)
    submit_reinforcement(run, planned)
    planned.job.output.mkdir()
    write_card(planned.job.output, make_card())
    submit_reinforcement(run, planned)
    again = run.model_copy(update={"landing": "s3://bucket/landing"})
    shared = plan_reinforcement(run, parts_of(run)["other"], "persistent", 0)
    submit_reinforcement(again, shared)
    options = [{"is_there": is_there, "contract": "persistent"} for is_there in (False, True, True)]
    assert [entry for entry in asked if len(entry) == 3] == [
        (reinforce_model, Stage.REINFORCEMENT, each) for each in options
    ]
    assert [entry for entry in asked if len(entry) == 2] == [((), each.name) for each in (planned, planned, shared)]


def test_a_bar_goes_on_with_every_update(run, monkeypatch):
    note_trained(run, "persistent")
    planned = plan_reinforcement(run, parts_of(run)["other"], "persistent", 0)
    shown = []

    @contextmanager
    def open_bar(label, total, unit):
        shown.append((label, total, unit))
        yield lambda count, words: shown.append((count, words))

    def play(job, on_update, check):
        check()
        for update in (UPDATES[0], UPDATES[1].model_copy(update={"policy_update": 4})):
            on_update(update)
        return make_card(model_digest="d" * 64)

    monkeypatch.setattr(reinforce, "shown_progress", open_bar)
    monkeypatch.setattr(reinforce, "reinforce_in_process", play)
    assert reinforce._reinforce_with_progress(run, planned).model_digest == "d" * 64
    most = planned.job.played.spec.most_updates
    assert shown == [
        ("GRPO, persistent in stateless seed 0", most, "updates"), (1, describe(UPDATES[0])), (3, describe(UPDATES[1])),
    ]  # fmt: skip
