"""A small town of agents on one interpreter.

Residents have conversations of their own, and see what the others change.
"""

from carryover.tasks.cave.agent import Agent
from carryover.tasks.cave.scripted import block, scripted
from carryover.tasks.cave.society import TurnWatch, answer_in_turns

TOWN = """\
class Place:
    def __init__(self, name, manager):
        self.name, self.manager = name, manager
weather = "sunny"
places = {"bakery": Place("bakery", "Ada")}"""
WEATHER_STATION = (block('weather = "storm"\nprint("weather is now", weather)'), "I announced the storm.")
FOUNDER = (block('places["library"] = Place("library", "Grace")\nprint(sorted(places))'), "The library is open.")
RESIDENT = (
    block('plan = "stay at home" if weather == "storm" else "walk"\nprint(weather, plan)'),
    block('print(places["library"].manager if "library" in places else "no library")'),
    "I stay at home; Grace manages the library.",
)


def main(watch: TurnWatch | None = None) -> dict[str, str]:
    """Return the residents' words after a round of changes."""
    with Agent(scripted(block(TOWN), "The town stands."), name="town") as town:
        print(town.ask("Found the town: the weather, and the places by name with their managers."))
        station = town.peer("weather station", model=scripted(*WEATHER_STATION))
        founder = town.peer("founder", model=scripted(*FOUNDER))
        residents = [town.peer(name, model=scripted(*RESIDENT)) for name in ("Lin", "Omar")]
        answers = answer_in_turns(
            [
                (station, "Announce a storm."),
                (founder, "Open a library that Grace manages."),
                *((resident, "Plan your day, and find out who manages the library.") for resident in residents),
            ],
            watch,
        )
        assert town.retrieve("plan") == "stay at home"
        return dict(zip(["station", "founder", "Lin", "Omar"], map(str, answers), strict=True))


if __name__ == "__main__":
    for name, said in main().items():
        print(f"{name}: {said}")
