import itertools

import pytest

from carryover.tasks.families.map_exploration.places import best_route, draw_map

LINE = {
    "start": "a",
    "gold": {"a": 0, "b": 2, "c": 9, "d": 4},
    "roads": {"a": {"b": 1, "d": 2}, "b": {"a": 1, "c": 3}, "c": {"b": 3}, "d": {"a": 2}},
}
"""c - b - a - d, with roads of 3, 1 and 2."""


@pytest.mark.parametrize(
    ("energy", "gold", "places"),
    [
        (0, 0, ()),
        (1, 2, ("b",)),
        (3, 4, ("d",)),
        (4, 11, ("b", "c")),
        (7, 11, ("b", "c")),
        (8, 15, ("d", "a", "b", "c")),
    ],
)
def test_the_best_walk_of_a_line(energy, gold, places):
    assert best_route({**LINE, "energy": energy}) == (gold, places)


def every_walk(instance, walk, energy):
    yield walk
    for neighbour, length in instance["roads"][walk[-1]].items():
        if length <= energy:
            yield from every_walk(instance, (*walk, neighbour), energy - length)


@pytest.mark.parametrize("seed", range(12))
def test_the_best_walk_is_that_of_all_walks(seed):
    instance = draw_map("near", seed)
    instance["energy"] = min(instance["energy"], 11)  # longer walks are too many to list
    walks = itertools.islice(every_walk(instance, (instance["start"],), instance["energy"]), 200_000)
    most = max(sum(instance["gold"][place] for place in set(walk)) for walk in walks)
    assert best_route(instance).gold == most


def test_roads_lead_both_ways():
    instance = draw_map("far", 3)
    for place, ends in instance["roads"].items():
        assert all(instance["roads"][end][place] == length for end, length in ends.items())
