"""Hidden maps, and the most gold that can be collected on one."""

import heapq
import random
from collections.abc import Mapping
from typing import Any, NamedTuple

_Reached = tuple[int, str]
"""Places seen, as bits, and the last of them."""
_Origins = dict[_Reached, _Reached]


class MapSize(NamedTuple):
    """Difficulty of a bucket."""

    place_count: tuple[int, int]
    """Smallest and largest number of places."""
    extra_roads: int
    """Roads beyond those of a tree."""
    energy_share: tuple[float, float]
    """Energy as a share of the length of the tree's roads."""


SIZES = {
    "near": MapSize(place_count=(7, 9), extra_roads=2, energy_share=(0.9, 1.3)),
    "far": MapSize(place_count=(10, 12), extra_roads=4, energy_share=(0.8, 1.2)),
}


class Route(NamedTuple):
    """A walk that collects the most gold."""

    gold: int
    places: tuple[str, ...]
    """In order of walking, without the start."""


def draw_map(bucket: str, seed: int) -> dict[str, Any]:
    """Return start, energy, gold by place, and roads."""
    size = SIZES[bucket]
    draw = random.Random(f"map {bucket} {seed}")
    places = _draw_names(draw, draw.randint(*size.place_count))
    roads: dict[str, dict[str, int]] = {place: {} for place in places}
    tree_length = 0
    for number, place in enumerate(places[1:], start=1):
        tree_length += _add_road(roads, place, draw.choice(places[:number]), draw.randint(1, 6))
    for _ in range(size.extra_roads):
        one, other = draw.sample(places, 2)
        if other not in roads[one]:
            _add_road(roads, one, other, draw.randint(1, 6))
    gold = {place: draw.randint(1, 9) for place in places}
    gold[places[0]] = 0
    nearest = min(roads[places[0]].values())
    energy = round(tree_length * draw.uniform(*size.energy_share))
    return {
        "start": places[0],
        "energy": max(energy, nearest + 1),  # a look and a step at least
        "gold": gold,
        "roads": {place: dict(sorted(ends.items())) for place, ends in sorted(roads.items())},
    }


def best_route(instance: Mapping[str, Any]) -> Route:
    """Return the walk that collects the most gold within an energy.

    Exact: the cheapest way to every pair of (places seen, last of them).
    """
    names = sorted(instance["roads"])
    bits = {name: 1 << number for number, name in enumerate(names)}
    costs, came_from = _cheapest_ways(instance, bits)
    gold = instance["gold"]
    values = {seen: sum(gold[name] for name in names if seen & bits[name]) for seen, _ in costs}
    best = max(costs, key=lambda there: (values[there[0]], -costs[there], there))
    walked: list[str] = []
    here = best
    while here in came_from:
        walked.append(here[1])
        here = came_from[here]
    return Route(values[best[0]], tuple(reversed(walked)))


def _cheapest_ways(instance: Mapping[str, Any], bits: Mapping[str, int]) -> tuple[dict[_Reached, int], _Origins]:
    """Return each reachable state's cost and predecessor, by Dijkstra."""
    start = (bits[instance["start"]], instance["start"])
    costs = {start: 0}
    came_from: _Origins = {}
    waiting = [(0, *start)]
    while waiting:
        cost, seen, place = heapq.heappop(waiting)
        if cost > costs[seen, place]:
            continue
        for neighbour, length in instance["roads"][place].items():
            there = (seen | bits[neighbour], neighbour)
            total = cost + length
            is_affordable = total <= instance["energy"]
            if is_affordable and total < costs.get(there, total + 1):
                costs[there] = total
                came_from[there] = (seen, place)
                heapq.heappush(waiting, (total, *there))
    return costs, came_from


def _draw_names(draw: random.Random, count: int) -> list[str]:
    names: dict[str, None] = {}
    while len(names) < count:
        names[f"{draw.choice('bdfgklmnprstvz')}{draw.choice('aeiou')}{draw.choice('lmnrst')}"] = None
    return list(names)


def _add_road(roads: dict[str, dict[str, int]], one: str, other: str, length: int) -> int:
    roads[one][other] = length
    roads[other][one] = length
    return length
