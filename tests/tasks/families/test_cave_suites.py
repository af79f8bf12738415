"""CaveAgent's suites as families: the state after each question is the reward."""

import pytest

from carryover.tasks.cave.suites.catalogue import suite_cases
from carryover.tasks.environment.block_environment import BlockEnvironment
from carryover.tasks.families.choose import open_own_family


@pytest.fixture
def world():
    own = open_own_family("cave_types")
    return own.family.open(own.sample("simple", 1).content)


def test_a_wrong_state_earns_nothing(world):
    assert world.next_question() != world.next_question()
    world.finish()
    assert (world.score(), world.metrics()) == (0.0, {"handed_in_count": 3, "right_count": 0})


def test_handing_in_more_often_than_asked_changes_nothing(world):
    told = [world.next_question() for _ in range(5)]
    assert "last question" in told[-1]
    assert world.metrics()["handed_in_count"] == 3


def test_the_goal_tells_variables_and_the_first_question():
    own = open_own_family("cave_multi_variable")
    instance = own.sample("05", 0)
    told = own.family.goal(instance.content)
    assert "ember_stock" in told
    assert "next_question()" in told


@pytest.mark.parametrize("contract", ["persistent", "stateless"])
def test_a_block_that_does_as_asked_is_rewarded(runtime, contract):
    case = next(case for case in suite_cases("types", 0) if case.tier == "simple")
    wanted = case.expected[0].state
    environment = BlockEnvironment("cave_types", contract, runtime=runtime, is_shaped=True)
    environment.reset(seed=0)
    writes = "\n".join(f"write_variable({name!r}, {value!r})" for name, value in wanted.items() if " " not in name)
    step = environment.step(f"I write.\n```python\n{writes}\nprint(next_question())\n```")
    assert case.turns[1].question in (step.observation or "")
    assert step.reward == environment.get_reward() == pytest.approx(1 / 3)
