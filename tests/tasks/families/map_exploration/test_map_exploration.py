import pytest

from carryover.tasks.families.map_exploration.family import MapExploration, MapWorld
from carryover.tasks.runtime.inside.tools import ToolRuntimeException
from tests.tasks.families.map_exploration.test_places import LINE


@pytest.fixture
def world():
    return MapWorld({**LINE, "energy": 8})


def test_a_look_costs_once(world):
    assert world.look("a") == {"b": 1, "d": 2}
    assert world.energy() == 7
    world.look("a")
    assert world.energy() == 7


def test_gold_is_found_once(world):
    assert [world.go("b"), world.go("a"), world.go("b")] == [2, 0, 0]
    assert (world.trail(), world.energy()) == (["a", "b", "a", "b"], 5)
    assert world.score() == 2 / 15
    assert world.metrics() == {"gold": 2, "place_count": 2, "energy_left": 5}


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda world: world.look("c"), "You have not been at 'c'"),
        (lambda world: world.go("c"), "No road leads from 'a' to 'c'"),
        (lambda world: [world.go("b"), world.go("c"), world.go("b"), world.go("c")], "Not enough energy: 1 left"),
    ],
)
def test_what_cannot_be_is_refused(world, act, message):
    with pytest.raises(ToolRuntimeException, match=message):
        act(world)


def test_what_is_known_is_what_was_looked_at(world):
    world.go("b")
    world.look("b")
    assert world.known() == {"graph": {"b": {"a": 1, "c": 3}}, "path": ["a", "b"], "strength": 6}


def test_the_reference_solution_ends_the_episode(world):
    MapExploration().solve({**LINE, "energy": 8}, world.tools)
    assert (world.is_over, world.score(), world.trail()) == (True, 1, ["a", "d", "a", "b", "c"])


def test_the_goal_hides_gold_and_roads():
    family = MapExploration()
    instance = family.sample("near", 0)
    goal = family.goal(instance)
    hidden = [place for place in instance["roads"] if place != instance["start"]]
    assert not [place for place in hidden if place in goal]
