"""An episode records a varied teacher's habits, and tells no contract where none is declared."""

import asyncio
import json
from itertools import product

import pytest

from carryover.tasks.agent.client import ScriptedClientSpec, open_client
from carryover.tasks.agent.episode import PlannedEpisode, run_episode
from carryover.tasks.agent.episode_spec import EpisodeSpec
from carryover.tasks.knapsack.family import KNAPSACK_FAMILY
from carryover.tasks.knapsack.knapsack_spec import KNAPSACK
from carryover.tasks.knapsack.sampling import sample_instance
from carryover.tasks.knapsack.teachers.habits import VARIED, draw_habits
from tests.tasks.agent.playing import make_context, make_scripted_condition

CONTRACTS = ("persistent", "stateless")
INSTANCE = sample_instance(KNAPSACK["small"], 1)


def play(runtime, contract, habits, **fields):
    condition = make_scripted_condition(contract, bucket="small")

    async def play_one():
        async with open_client(ScriptedClientSpec(habits=habits), condition, KNAPSACK_FAMILY) as client:
            context = make_context(runtime, client, condition, spec=EpisodeSpec(prompt_set="compact", **fields))
            return await run_episode(context, PlannedEpisode(INSTANCE))

    return asyncio.run(play_one())


def test_both_contracts_record_the_same_drawn_habits(runtime):
    played = [play(runtime, contract, VARIED).episode for contract in CONTRACTS]
    drawn = draw_habits(VARIED, INSTANCE.instance_id).model_dump()
    assert [json.loads(each.habits_json or "null") for each in played] == [drawn, drawn]
    assert [each.finish_reason for each in played] == ["finish_tool", "finish_tool"]
    assert played[0].score == played[1].score
    assert {each.prompt_set for each in played} == {"compact"}


def test_a_fixed_teacher_records_no_habits(runtime):
    assert play(runtime, "persistent", None).episode.habits_json is None


def test_an_undeclared_contract_stands_in_no_message(runtime):
    played = {contract: play(runtime, contract, None, declares_contract=False) for contract in CONTRACTS}
    openings = {recorded.turns[0].observation for recorded in played.values()}
    assert len(openings) == 1
    for recorded in played.values():
        told = [turn.observation or "" for turn in recorded.turns]
        assert not any(
            word in text for text, word in product(told, ("PERSISTENT", "RESET", "active_globals", "runtime"))
        )
        assert json.loads(recorded.episode.contract_json)["declares_contract"] is False


def test_full_prompts_cannot_keep_the_contract_back():
    with pytest.raises(ValueError, match="declares_contract false needs prompt_set compact"):
        EpisodeSpec(declares_contract=False)
    assert "declares_contract" not in EpisodeSpec().model_dump()
