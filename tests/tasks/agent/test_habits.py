"""An episode of a varied teacher records the habits that it drew."""

import asyncio
import json

from carryover.tasks.agent.client import ScriptedClientSpec, open_client
from carryover.tasks.agent.episode import PlannedEpisode, run_episode
from carryover.tasks.agent.episode_spec import EpisodeSpec
from carryover.tasks.knapsack.family import KNAPSACK_FAMILY
from carryover.tasks.knapsack.knapsack_spec import KNAPSACK
from carryover.tasks.knapsack.sampling import sample_instance
from carryover.tasks.knapsack.teachers.habits import VARIED, draw_habits
from tests.tasks.agent.playing import make_context, make_scripted_condition

INSTANCE = sample_instance(KNAPSACK["small"], 1)


def play(runtime, contract, habits):
    condition = make_scripted_condition(contract, bucket="small")

    async def play_one():
        async with open_client(ScriptedClientSpec(habits=habits), condition, KNAPSACK_FAMILY) as client:
            context = make_context(runtime, client, condition, spec=EpisodeSpec(prompt_set="compact"))
            return await run_episode(context, PlannedEpisode(INSTANCE))

    return asyncio.run(play_one()).episode


def test_both_contracts_record_the_same_drawn_habits(runtime):
    played = [play(runtime, contract, VARIED) for contract in ("persistent", "stateless")]
    drawn = draw_habits(VARIED, INSTANCE.instance_id).model_dump()
    assert [json.loads(each.habits_json) for each in played] == [drawn, drawn]
    assert [each.finish_reason for each in played] == ["finish_tool", "finish_tool"]
    assert played[0].score == played[1].score


def test_a_fixed_teacher_records_no_habits(runtime):
    assert play(runtime, "persistent", None).habits_json is None
