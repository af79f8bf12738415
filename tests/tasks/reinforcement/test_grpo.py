"""A reinforcement updates a model by its episodes, ends when names are kept, and survives a kill."""

import pytest

from carryover.tasks.plans.reinforced import REINFORCEMENT
from carryover.tasks.reinforcement.grpo import has_adapted
from carryover.tasks.reinforcement.process import LOG_NAME, ReinforcementJob, reinforce_in_process
from carryover.tasks.reinforcement.reinforcement_spec import Reinforcement
from carryover.tasks.reinforcement.update_log import PolicyUpdate, UpdateLog, read_updates
from carryover.tasks.sft.card import read_card
from carryover.tasks.sft.folder import CHECKPOINTS, digest_of_tensors


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
