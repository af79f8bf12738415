"""Map exploration as a task family."""

from collections.abc import Mapping
from typing import Any, ClassVar

from carryover.tasks.families.family import Environment, Family, Lesson, Tool
from carryover.tasks.families.map_exploration.places import SIZES, best_route, draw_map
from carryover.tasks.families.map_exploration.teacher import write_block
from carryover.tasks.runtime.inside.tools import ToolRuntimeException


class MapWorld(Environment):
    """A walker on one map."""

    def __init__(self, instance: Mapping[str, Any]) -> None:
        super().__init__(self.trail, self.energy, self.look, self.go)
        self._instance = instance
        self._trail: list[str] = [instance["start"]]
        self._looked: set[str] = set()
        self._energy: int = instance["energy"]
        self._best = best_route(instance).gold

    def trail(self) -> list:
        """Return the places walked so far, in order; the last is where you are."""
        return list(self._trail)

    def energy(self) -> int:
        """Return the energy that is left."""
        return self._energy

    def look(self, place: str) -> dict:
        """Return the roads of a place where you have been: each neighbour with the length of the road to it.

        The first look at a place costs one unit of energy; later ones are free. Fails elsewhere, and without energy.
        """
        if place not in self._trail:
            raise ToolRuntimeException(f"You have not been at {place!r}.")
        if place not in self._looked:
            self._spend(1)
            self._looked.add(place)
        return dict(self._instance["roads"][place])

    def go(self, place: str) -> int:
        """Walk to a neighbour, and return the gold found there for the first time.

        Costs the length of the road. Fails where no road leads there, and without the energy.
        """
        roads = self._instance["roads"][self._trail[-1]]
        if place not in roads:
            raise ToolRuntimeException(f"No road leads from {self._trail[-1]!r} to {place!r}.")
        self._spend(roads[place])
        found = 0 if place in self._trail else self._instance["gold"][place]
        self._trail.append(place)
        return found

    def score(self) -> float:
        """Return the gold collected over the most that can be collected without looking."""
        return self._gold() / self._best

    def metrics(self) -> Mapping[str, float]:
        """Return gold, places seen and energy left."""
        return {"gold": self._gold(), "place_count": len(set(self._trail)), "energy_left": self._energy}

    def known(self) -> Mapping[str, Any]:
        """Return the map as far as it was looked at, the trail and the energy."""
        graph = {place: dict(self._instance["roads"][place]) for place in self._trail if place in self._looked}
        return {"graph": graph, "path": list(self._trail), "strength": self._energy}

    def _gold(self) -> int:
        return sum(self._instance["gold"][place] for place in set(self._trail))

    def _spend(self, cost: int) -> None:
        if cost > self._energy:
            raise ToolRuntimeException(f"Not enough energy: {self._energy} left, {cost} needed.")
        self._energy -= cost


class MapExploration(Family):
    """Collects gold on a hidden map."""

    buckets: ClassVar[tuple[str, ...]] = tuple(SIZES)
    known: ClassVar[Mapping[str, str]] = {
        "graph": "the roads of every place looked at, as place to neighbour to length",
        "path": "the places walked so far",
        "strength": "the energy that is left",
    }
    taught: ClassVar[tuple[str, ...]] = ("persistent", "stateless")
    spare_tool: ClassVar[str | None] = "trail"
    tool_call_cap: ClassVar[int | None] = 60

    def sample(self, bucket: str, seed: int) -> Any:
        """Return a map."""
        return draw_map(bucket, seed)

    def goal(self, instance: Any) -> str:
        """Return the goal's text."""
        return (
            f"Map exploration: start at {instance['start']} with energy {instance['energy']}. "
            "Walk to as much gold as you can."
        )

    def open(self, instance: Any) -> MapWorld:
        """Return the world of a new episode."""
        return MapWorld(instance)

    def solve(self, instance: Any, tools: Mapping[str, Tool]) -> None:
        """Walk the best route, without looking."""
        for place in best_route(instance).places:
            tools["go"](place)
        tools["finish"]()

    def teach(self, lesson: Lesson) -> tuple[str, str]:
        """Return the next sentence and block of the teacher."""
        return write_block(lesson)
