"""What an episode of an arm is told as: its turns, its row and its name."""

import asyncio
import dataclasses
import json

from carryover.tasks.cave.agent_spec import AgentSpec
from carryover.tasks.cave.arms.oracle import Oracle
from carryover.tasks.cave.arms.play import CaseEpisode, Setting, episode_id, play
from carryover.tasks.cave.suites.case import Call
from carryover.tasks.traces.result_rows import CaveTurnRow
from carryover.tasks.traces.vocabulary import FinishReason
from tests.tasks.cave.arms.counter import COUNTER


def test_a_turn_is_told_whole(fork_tree):
    case = dataclasses.replace(COUNTER, size=7, source="made here")
    spec = AgentSpec(max_steps=5, max_tokens=9000)
    setting = Setting(spec, fork_tree, "run", "plan", "smoke", concurrency=2, instruction="parallel")
    replies = ["No.", (Call("write_variable", {"name": "log", "value": [3]}),), "It is 3.", "No."]
    played = asyncio.run(play(CaseEpisode(case, "json", 4, 6), Oracle(replies), setting))
    identifier = episode_id(CaseEpisode(case, "json", 4, 6), "plan", "parallel")
    turn = played.turns[1]
    assert turn == CaveTurnRow(
        run_id="run",
        episode_id=identifier,
        plan_digest="plan",
        attempt=6,
        suite="made",
        tier="counter",
        case_id="made/counter/000",
        source="made here",
        question=2,
        arm="json",
        instruction="parallel",
        model_name="oracle",
        is_oracle=True,
        replicate=4,
        size=7,
        first_reply=2,
        reply_count=2,
        call_count=1,
        golden_call_count=0,
        prompt_tokens=turn.prompt_tokens,
        completion_tokens=turn.completion_tokens,
        finish_reason=FinishReason.ANSWER,
        is_state_right=False,
        has_required_calls=True,
        are_calls_reference=None,
        is_passed=False,
        reward=0.0,
        judged_reward=None,
        wrong_json='["total"]',
        answer="It is 3.",
        state_json=json.dumps({"expected": {"total": 3, "log": [3]}, "found": {"total": 1, "log": [3]}}),
    )
    assert turn.prompt_tokens > turn.completion_tokens > 0
    episode = played.recorded.episode
    assert episode.episode_id == identifier
    assert (episode.variant, episode.bucket, episode.family, episode.agent) == ("json", "made", "cave", "calls")
    assert (episode.instance_id, episode.replicate, episode.attempt) == ("made/counter/000", 4, 6)
    assert (episode.max_turns, episode.max_tokens, episode.concurrency) == (15, 27_000, 2)
    assert (episode.plan_digest, episode.scale, episode.runtime_contract) == ("plan", "smoke", "none")
    assert (episode.score, episode.is_solved, episode.finish_reason) == (0.0, False, FinishReason.ANSWER)
    assert (episode.sandbox_level, episode.backend, episode.is_contract_verified) == ("none", "host", False)
    opening = json.loads(played.recorded.turns[0].observation or "")[0]["content"]
    assert opening.endswith("call all of them in one reply.")
    assert json.loads(episode.contract_json)["agent"] == "calls"


def test_an_episode_has_one_id_in_every_run():
    episode = CaseEpisode(COUNTER, "json", 0)
    assert episode_id(episode, "plan", "none") == episode_id(episode, "plan", "none")
    others = [episode._replace(arm="json_python"), episode._replace(replicate=1), episode._replace(attempt=1)]
    ids = {episode_id(other, "plan", "none") for other in (episode, *others)}
    ids |= {episode_id(episode, "other", "none"), episode_id(episode, "plan", "parallel")}
    assert [len(each) for each in ids] == [24] * 6
