"""A reinforcement's process: what it is started with, what it tells, and the card that it leaves."""

import os
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from carryover.tasks.plans.reinforced import REINFORCEMENT
from carryover.tasks.reinforcement import process
from carryover.tasks.reinforcement.grpo import Reinforced
from carryover.tasks.reinforcement.process import ReinforcementJob, reinforce_in_process, run_job
from carryover.tasks.reinforcement.reinforcement_spec import Reinforcement, reinforcement_need
from carryover.tasks.reinforcement.update_log import UpdateLog
from carryover.tasks.services.errors import UserError
from carryover.tasks.sft.card import read_card, write_card
from carryover.tasks.sft.child_process import Child, training_environment
from carryover.tasks.sft.folder import claim, digest_of_tensors, start_digests
from carryover.tasks.sft.machine import MachineNeed
from carryover.tasks.sft.training_log import TrainingMetric
from carryover.tasks.sft.training_spec import TRAINING
from carryover.tasks.traces.training_rows import PolicyUpdate
from tests.tasks.cards import make_card


@pytest.fixture
def job(tmp_path):
    """A job on a model that is a card and a file of tensors."""
    start = tmp_path / "start"
    start.mkdir()
    (start / "model.safetensors").write_bytes(b"before")
    write_card(start, make_card(token_count=5))
    played = Reinforcement(spec=REINFORCEMENT["smoke"], family="knapsack", bucket="small", runtime_contract="stateless")
    return ReinforcementJob(
        played=played, start=start, output=tmp_path / "model", seed=3, plan_digest="plan", cpu_threads=2
    )


def make_update(number):
    fields = dict.fromkeys(PolicyUpdate.model_fields, 1)
    return PolicyUpdate.model_validate(
        {**fields, "missed_share": 0.5, "unfinished_share": 0.5, "policy_update": number}
    )


def test_a_child_is_started_with_the_job_and_tells_each_update_once(job, monkeypatch):
    told, children, checked = [], [], []

    def run(child, look, check):
        children.append(child)
        look()
        log = UpdateLog(job.output / "policy_updates.jsonl")
        for number in (1, 2):
            log.add(make_update(number))
            look()
            look()
        check()
        write_card(job.output, make_card(step_count=2))

    monkeypatch.setattr(process, "run_child", run)
    card = reinforce_in_process(job, told.append, lambda: checked.append(True))
    assert card.step_count == 2
    assert [update.policy_update for update in told] == [1, 2]
    assert checked == [True]
    description = job.output / "reinforcement_job.json"
    assert ReinforcementJob.model_validate_json(description.read_text()) == job
    assert children == [
        Child(
            title="reinforcement",
            arguments=("-m", "carryover.tasks.reinforcement.process", str(description)),
            printed=job.output / "reinforcement_output.txt",
            environment={**training_environment(2, os.environ, []), "TRL_EXPERIMENTAL_SILENCE": "1"},
        )
    ]


def make_metric(step):
    return TrainingMetric(
        optimizer_step=step, total_steps=2, epoch=1.0, loss=step / 10, learning_rate=0.1, gradient_norm=None,
        token_count=9, wall_seconds=10.0 * step,
    )  # fmt: skip


def test_the_card_of_a_reinforced_model_is_its_starts_with_what_changed(job, monkeypatch):
    metrics = (make_metric(1), make_metric(2))
    asked = []

    def reinforce(played, start, output, **options):
        callback = options.pop("callback")
        asked.append((played, start, output, options))
        state = SimpleNamespace(global_step=0, is_world_process_zero=True)
        callback.on_train_begin(None, state, None)
        callback.metrics += metrics
        callback.write(state)
        (output / "model.safetensors").write_bytes(b"after")
        return Reinforced(update_count=2, token_count=77)

    monkeypatch.setattr(process, "reinforce", reinforce)
    before = datetime.now(UTC)
    run_job(job)
    assert asked == [(job.played, str(job.start), job.output, {"seed": 3, "cpu_threads": 2})]
    card = read_card(job.output)
    assert before <= card.started_at <= datetime.now(UTC)
    assert card == make_card(
        base_model=str(job.start), plan_digest="plan", model_digest=digest_of_tensors(job.output), token_count=77,
        step_count=2, final_loss=0.2, validation_loss=None, wall_seconds=20.0, started_at=card.started_at,
        metrics=metrics,
    )  # fmt: skip
    identity = job.model_dump(mode="json", include={"played", "seed"}) | {"start": start_digests(str(job.start))}
    claim(job.output, identity)
    with pytest.raises(UserError, match="different training"):
        claim(job.output, identity | {"seed": 4})
    run_job(job)  # a finished one is left as it is
    assert len(asked) == 1


def test_the_process_ends_with_its_starter_and_tells_a_user_error(job, tmp_path, capsys, monkeypatch):
    done = []

    def refuse(job):
        done.append(job)
        if len(done) == 2:
            raise UserError("no such model; name another")

    monkeypatch.setattr(process, "end_with_starter", done.clear)
    monkeypatch.setattr(process, "run_job", refuse)
    (tmp_path / "job.json").write_text(job.model_dump_json())
    done.append("before")
    assert process.main(str(tmp_path / "job.json")) == 0
    assert done == [job]
    monkeypatch.setattr(process, "end_with_starter", lambda: None)
    assert process.main(str(tmp_path / "job.json")) == 2
    assert capsys.readouterr() == ("", "no such model; name another\n")


def test_a_base_of_unknown_size_needs_no_known_memory():
    unknown = TRAINING["pretrained"].model_copy(update={"base_model": "some/body"})
    assert reinforcement_need(unknown) == MachineNeed("pretrained", has_gpu=False, memory_bytes=None)
