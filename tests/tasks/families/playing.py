"""Plays an episode of a family of one's own."""

import asyncio

from carryover.tasks.agent.episode import PlannedEpisode, run_episode
from carryover.tasks.agent.episode_spec import EpisodeSpec
from tests.tasks.agent.playing import make_condition, make_context


def play(runtime, family, problem, client, contract="persistent"):
    """Return a recorded episode with compact prompts."""
    condition = make_condition(contract, bucket=problem.bucket)
    spec = EpisodeSpec(prompt_set="compact", max_turns=24, tool_call_cap=family.family.tool_call_cap)
    context = make_context(runtime, client, condition, family=family, spec=spec)
    return asyncio.run(run_episode(context, PlannedEpisode(problem)))
