"""OpenEnv's own server and client play what the environment plays, and its validator passes the package."""

import json

import pytest

from carryover.tasks.environment.block_environment import BlockEnvironment
from tests.tasks.environment.foreign_trainers import run_session
from tests.tasks.environment.scripted_policy import BUCKETS, open_policy, play

pytestmark = [pytest.mark.slow, pytest.mark.long]
FAMILY, CONTRACT = "map_exploration", "stateless"


@pytest.fixture(scope="module")
def checked():
    return run_session("openenv", "knapsack", "persistent", "check")


def test_a_session_gives_the_environments_messages_and_rewards(runtime):
    session = run_session("openenv", FAMILY, CONTRACT, 2)
    environment = BlockEnvironment(FAMILY, CONTRACT, bucket=BUCKETS[FAMILY], runtime=runtime)
    for seed, told in enumerate(session):
        messages, rewards = play(environment, open_policy(FAMILY, CONTRACT, seed), seed)
        assert (told["messages"], told["reward"]) == (messages, rewards[-1])
        assert told["metadata"] == {"contract": CONTRACT, "family": FAMILY}


def test_concurrent_sessions_share_no_name(checked):
    seen = checked[0]
    assert json.loads(seen[0])["output"] == "7"
    assert "NameError" in json.loads(seen[1])["error"]


def test_openenv_validates_the_server_and_the_package(checked):
    _, running, static = checked
    assert (running["exit"], running["report"]["passed"]) == (0, True)
    assert running["report"]["summary"]["failed_criteria"] == []
    assert (static["exit"], static["report"]["verdict"]) == (0, "pass")
