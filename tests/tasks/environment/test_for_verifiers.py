"""The package for verifiers loads by its id and plays what the environment plays."""

import tomllib
from pathlib import Path

import pytest

from carryover.tasks.environment.block_environment import BlockEnvironment
from tests.tasks.environment.foreign_trainers import run_session
from tests.tasks.environment.scripted_policy import BUCKETS, open_policy, play

PACKAGE = Path(__file__).parents[3] / "deployments" / "environments" / "carryover_blocks"


def test_the_layout_is_that_of_a_verifiers_package():
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())
    module = project["project"]["name"].replace("-", "_")
    assert project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == [module]
    assert (PACKAGE / module / "__init__.py").is_file()
    assert (PACKAGE / "README.md").is_file()


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize(("family", "contract"), [("knapsack", "persistent"), ("map_exploration", "stateless")])
def test_a_rollout_gives_the_environments_messages_and_rewards(runtime, family, contract):
    session = run_session("verifiers", family, contract, 2)
    environment = BlockEnvironment(family, contract, bucket=BUCKETS[family], runtime=runtime)
    for seed, told in enumerate(session):
        messages, rewards = play(environment, open_policy(family, contract, seed), seed)
        assert (told["messages"], told["reward"]) == (messages, rewards[-1])
        assert told["metadata"] == {"contract": contract, "family": family}
        assert told["missed_names"] == environment.missed_names == 0
