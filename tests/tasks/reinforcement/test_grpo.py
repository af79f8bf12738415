"""A reinforcement updates a model by its episodes, ends when names are kept, and survives a kill."""

from types import SimpleNamespace
from typing import Any

import pytest

from carryover.tasks.environment.for_trl import TokenEpisode
from carryover.tasks.plans.reinforced import REINFORCEMENT
from carryover.tasks.reinforcement import grpo
from carryover.tasks.reinforcement.grpo import ending, has_adapted, open_grpo
from carryover.tasks.reinforcement.passes import without_padding
from carryover.tasks.reinforcement.process import LOG_NAME, ReinforcementJob, reinforce_in_process, run_job
from carryover.tasks.reinforcement.reinforcement_spec import Reinforcement
from carryover.tasks.reinforcement.rollouts import World
from carryover.tasks.reinforcement.update_log import UpdateLog, read_updates
from carryover.tasks.runtime.contract import named_contract
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.hub import load_tokenizer
from carryover.tasks.sft.card import read_card, write_card
from carryover.tasks.sft.folder import CHECKPOINTS, digest_of_tensors
from carryover.tasks.traces.training_rows import PolicyUpdate
from tests.tasks.cards import make_card


def update(number, missed):
    numbers = dict.fromkeys(set(PolicyUpdate.model_fields) - {"policy_update", "missed_share"}, 1)
    return PolicyUpdate.model_validate({**numbers, "policy_update": number, "missed_share": missed})


def test_it_ends_when_the_last_updates_keep_names():
    spec = REINFORCEMENT["laptop"].model_copy(update={"least_updates": 3})
    missed = [update(1, 0.9), update(2, 0.04)]
    assert not has_adapted(spec, missed)
    assert not has_adapted(spec, [*missed, update(3, 0.08)])
    assert has_adapted(spec, [*missed, update(3, 0.06)])
    assert not has_adapted(spec, [update(1, 0.0), update(2, 0.0)])


def test_a_log_drops_what_is_made_again(tmp_path):
    log = UpdateLog(tmp_path / "log.jsonl")
    for number in (1, 2, 3):
        log.add(update(number, 0.5))
    log.keep_until(2)
    assert [each.policy_update for each in read_updates(tmp_path / "log.jsonl")] == [1, 2]


def test_a_spec_refuses_passes_that_divide_no_update():
    with pytest.raises(ValueError, match="no multiple of 5"):
        REINFORCEMENT["laptop"].model_validate(REINFORCEMENT["laptop"].model_dump() | {"sequences_per_pass": 5})


def job_of(start, output):
    spec = REINFORCEMENT["smoke"].model_copy(update={"most_updates": 3, "least_updates": 3})
    played = Reinforcement(spec=spec, family="knapsack", bucket="small", runtime_contract="stateless")
    return ReinforcementJob(played=played, start=start, output=output, seed=0)


class KilledError(Exception):
    """Ends the process as a kill would."""


@pytest.mark.slow
def test_a_killed_reinforcement_goes_on_to_the_same_updates(start, tmp_path):
    whole = job_of(start, tmp_path / "whole")
    told = []
    card = reinforce_in_process(whole, told.append, lambda: None)
    assert [each.policy_update for each in told] == [1, 2, 3]
    assert (card.step_count, card.contract, card.base_model) == (3, "persistent", str(start))
    assert card.model_digest == digest_of_tensors(whole.output)

    broken = job_of(start, tmp_path / "broken")

    def kill():
        if list((broken.output / CHECKPOINTS).glob("checkpoint-1/trainer_state.json")):
            raise KilledError

    with pytest.raises(KilledError):
        reinforce_in_process(broken, lambda _: None, kill)
    assert not broken.is_finished
    assert reinforce_in_process(broken, lambda _: None, lambda: None).model_digest == card.model_digest
    of_both = [read_updates(each.output / LOG_NAME) for each in (whole, broken)]
    plain, again = ([each.model_copy(update={"wall_seconds": 0}) for each in updates] for updates in of_both)
    assert plain == again
    assert read_card(broken.output).step_count == 3


def test_a_log_is_whole_after_each_update(tmp_path):
    assert read_updates(tmp_path / "log.jsonl") == []
    log = UpdateLog(tmp_path / "log.jsonl")
    for number in (1, 2):
        log.add(update(number, 0.5))
        assert read_updates(tmp_path / "log.jsonl") == log.updates
    assert UpdateLog(tmp_path / "log.jsonl").updates == log.updates


@pytest.fixture
def opened(start, runtime, tmp_path, monkeypatch):
    """A trainer of the smoke settings, but for what tests tell apart, and its log."""
    from transformers import AutoModelForCausalLM

    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")  # as in a reinforcement's process
    changes = {"most_updates": 3, "instances_per_update": 2, "sequences_per_pass": 2, "first_seed": 7, "beta2": 0.9}
    spec = REINFORCEMENT["smoke"].model_copy(update={**changes, "save_updates": 2, "max_completion_tokens": 8})
    world = World(family="knapsack", bucket="small", contract=named_contract("stateless"), runtime=runtime)
    tokenizer = load_tokenizer(start)
    log = UpdateLog(tmp_path / "log.jsonl")
    model = AutoModelForCausalLM.from_pretrained(start)
    trainer = open_grpo(model, tokenizer, spec, world, checkpoints=tmp_path / "checkpoints", seed=5, log=log)
    return trainer, spec, log


def test_the_trainer_has_the_settings_of_the_spec(opened, tmp_path):
    trainer, spec, _ = opened
    asked = trainer.args
    assert (asked.output_dir, asked.seed, asked.max_steps) == (str(tmp_path / "checkpoints"), 5, 3)
    assert (asked.per_device_train_batch_size, asked.gradient_accumulation_steps) == (2, 2)  # 4 episodes an update
    assert (asked.num_generations, asked.temperature) == (spec.episodes_per_instance, spec.temperature)
    assert asked.max_completion_length == spec.max_episode_tokens
    assert (asked.learning_rate, asked.adam_beta2) == (spec.learning_rate, 0.9)
    assert (asked.lr_scheduler_type, asked.weight_decay) == ("constant", 0.0)
    assert (asked.save_steps, asked.save_total_limit, asked.logging_steps) == (2, 2, 1)
    assert asked.use_cpu
    assert not asked.bf16
    assert not asked.gradient_checkpointing
    assert asked.report_to == []


def test_a_reinforcement_resumes_trains_and_saves(start, tmp_path, monkeypatch):
    import torch
    from transformers import AutoModelForCausalLM

    opened, added, resumed, threads, closed = [], [], [], [], []
    world_runtime: Any = SimpleNamespace(close=lambda: closed.append(True))

    def open_trainer(model, tokenizer, spec, world, **settings):
        opened.append((len(tokenizer), spec, world, settings))
        state = SimpleNamespace(global_step=4, num_input_tokens_seen=77)

        def train(*, resume_from_checkpoint):
            assert closed == []
            resumed.append(resume_from_checkpoint)
            model.get_input_embeddings().weight.data.fill_(0.25)

        return SimpleNamespace(add_callback=added.append, train=train, state=state)

    monkeypatch.setattr(grpo, "open_grpo", open_trainer)
    monkeypatch.setattr(grpo, "open_runtime", lambda spec: world_runtime)
    monkeypatch.setattr(torch, "set_num_threads", threads.append)
    played = job_of(start, tmp_path).played
    checkpoint = tmp_path / CHECKPOINTS / "checkpoint-2"
    checkpoint.mkdir(parents=True)
    for name in ("model.safetensors", "optimizer.pt", "scheduler.pt", "rng_state.pth"):
        (checkpoint / name).touch()
    (checkpoint / "trainer_state.json").write_text("{}")
    callback: Any = object()
    done = grpo.reinforce(played, str(start), tmp_path, seed=5, callback=callback, cpu_threads=3)
    assert done == (4, 77)
    ((vocabulary_size, spec, world, settings),) = opened
    tokenizer = load_tokenizer(tmp_path)
    assert (vocabulary_size, spec) == (len(tokenizer), played.spec)
    assert world == World("knapsack", "small", named_contract("stateless"), world_runtime)
    log = settings.pop("log")
    log.add(update(1, 0.5))
    assert read_updates(tmp_path / LOG_NAME) == [update(1, 0.5)]
    assert settings == {"checkpoints": tmp_path / CHECKPOINTS, "seed": 5}
    assert [type(each).__name__ for each in added] == ["Ending", "object"]
    assert (resumed, threads, closed) == ([str(checkpoint)], [3], [True])
    model: Any = AutoModelForCausalLM.from_pretrained(tmp_path)
    assert set(model.get_input_embeddings().weight.flatten().tolist()) == {0.25}


def test_each_instance_is_used_once_from_the_first_seed(opened):
    trainer, *_ = opened
    assert [row["prompt"] for row in trainer.train_dataset] == [str(seed) for seed in range(7, 13)]


def test_an_update_is_played_logged_and_handed_to_the_trainer(opened):
    trainer, spec, log = opened
    trainer.state.global_step = 1
    handed = trainer.rollout_func(["7", "7"], trainer)
    (row,) = log.updates
    assert (row.policy_update, row.episode_count) == (2, 2)
    assert set(handed) == set(TokenEpisode._fields)
    assert [sum(mask) for mask in handed["env_mask"]] == [spec.max_turns * 8] * 2
    assert row.mean_reward == pytest.approx(sum(handed["reward"]) / 2)


def test_a_pass_without_padding_has_the_same_gradient(opened):
    import torch
    from trl.trainer.grpo_trainer import GRPOTrainer

    trainer, *_ = opened
    # Two episodes of a longer update: prompts of 3 and 2 tokens of 5, completions of 4 and 6 of 9, the reply in part.
    prompt_mask = torch.tensor([[0, 0, 1, 1, 1], [0, 0, 0, 1, 1]])
    completion_mask = torch.tensor([[1, 1, 1, 1, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1, 0, 0, 0]])
    tool_mask = torch.tensor([[1, 0, 1, 1, 1, 1, 1, 1, 1], [1, 1, 0, 0, 1, 1, 1, 1, 1]])
    inputs = {
        "prompt_ids": torch.arange(10, 20).reshape(2, 5) * prompt_mask,
        "prompt_mask": prompt_mask,
        "completion_ids": torch.arange(30, 48).reshape(2, 9) * completion_mask,
        "completion_mask": completion_mask,
        "tool_mask": tool_mask,
        "advantages": torch.tensor([0.5, -1.0]),
        "num_items_in_batch": torch.tensor(11),
    }
    assert {name: tuple(value.shape) for name, value in without_padding(inputs).items()} == {
        "prompt_ids": (2, 3),
        "prompt_mask": (2, 3),
        "completion_ids": (2, 6),
        "completion_mask": (2, 6),
        "tool_mask": (2, 6),
        "advantages": (2,),
        "num_items_in_batch": (),
    }

    def loss_and_gradient(compute_loss):
        trainer.model.zero_grad()
        loss = compute_loss(trainer.model, inputs)
        loss.backward()
        return loss.detach(), torch.cat([each.grad.flatten() for each in trainer.model.parameters()])

    of_trl = loss_and_gradient(lambda model, inputs: GRPOTrainer.compute_loss(trainer, model, inputs))
    widths = []
    trainer.model.register_forward_pre_hook(
        lambda _model, _args, options: widths.append(options["input_ids"].size(1)), with_kwargs=True
    )
    torch.testing.assert_close(loss_and_gradient(trainer.compute_loss), of_trl)
    assert of_trl[1].abs().max() > 0
    assert widths == [9]


def test_training_stops_once_names_are_kept(tmp_path):
    spec = REINFORCEMENT["laptop"].model_copy(update={"least_updates": 1, "judged_updates": 1})
    log = UpdateLog(tmp_path / "log.jsonl")
    callback: Any = ending(spec, log)
    for number, missed in ((1, 0.9), (2, 0.0), (3, 0.0)):
        log.add(update(number, missed))
    callback.on_train_begin(None, SimpleNamespace(global_step=1), None)
    assert [each.policy_update for each in log.updates] == [1]
    control = SimpleNamespace(should_training_stop=False)
    callback.on_step_end(None, None, control)
    assert not control.should_training_stop
    log.add(update(2, 0.0))
    callback.on_step_end(None, None, control)
    assert control.should_training_stop


def test_a_finished_reinforcement_is_returned_as_it_is(start, tmp_path):
    job = job_of(start, tmp_path / "model")
    job.output.mkdir()
    assert not job.is_finished
    write_card(job.output, make_card(step_count=3))
    run_job(job)
    assert job.is_finished
    assert read_card(job.output).step_count == 3
    other = job.model_copy(update={"seed": 1})
    with pytest.raises(UserError, match="another"):
        run_job(other)
    with pytest.raises(UserError, match="another"):
        reinforce_in_process(other, lambda _: None, lambda: None)
