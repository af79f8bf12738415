"""BFCL's multi-turn tasks, over the simulators of wheel `bfcl-eval`."""

import inspect
import json
from collections import Counter
from collections.abc import Mapping
from copy import deepcopy
from functools import partial
from itertools import accumulate
from typing import Any

from carryover.tasks.cave.importers.bfcl import WHEEL, documentation, json_schema, read_lines, signature
from carryover.tasks.cave.importers.download import Download, open_download
from carryover.tasks.cave.suites.case import Case, Turn, World, bound
from carryover.tasks.cave.suites.values import Json

MULTI_TURN_CATEGORIES = ("base", "miss_func", "miss_param", "long_context")
SIMULATORS = {
    "GorillaFileSystem": ("gorilla_file_system", "gorilla_file_system"),
    "MathAPI": ("math_api", "math_api"),
    "MessageAPI": ("message_api", "message_api"),
    "TicketAPI": ("ticket_api", "ticket_api"),
    "TradingBot": ("trading_bot", "trading_bot"),
    "TravelAPI": ("travel_booking", "travel_booking"),
    "TwitterAPI": ("posting_api", "posting_api"),
    "VehicleControlAPI": ("vehicle_control", "vehicle_control"),
}
"""Each class with its module and the file that documents its functions."""
_SOURCE = "bfcl_eval.eval_checker.multi_turn_eval.func_source_code"
_ADDED = "More functions are there now. Can you do it with them?"
_INSTRUCTIONS = "Do what each request asks for with the functions, as far as they and the request allow."


class Simulators:
    """The objects of an episode, made at first use, with answers."""

    def __init__(self, classes: Mapping[str, type], scenario: Mapping[str, Any], *, is_long: bool) -> None:
        self.classes = classes
        self.scenario = scenario
        self.is_long = is_long
        self.objects: dict[str, Any] = {}
        self.answers: list[str] = []

    def __deepcopy__(self, memo: dict[int, Any]) -> "Simulators":
        """Return simulators with objects of their own; classes and scenario are shared."""
        copied = Simulators(self.classes, self.scenario, is_long=self.is_long)
        copied.objects = deepcopy(self.objects, memo)
        copied.answers = list(self.answers)
        return copied

    def call(self, function: str, arguments: Mapping[str, Any]) -> Json:
        """Call an object's function; what it raises is an answer.

        So it is in the wheel.
        """
        self._make()
        owner = next(one for one in self.objects.values() if callable(getattr(one, function, None)))
        try:
            value = getattr(owner, function)(**arguments)
        except Exception as error:  # noqa: BLE001 - simulators raise whatever they like
            value = f"Error during execution: {error}"
        self.answers.append(_as_text(value))
        return _as_json(value)

    def state(self) -> dict[str, Json]:
        """Return the public attributes of the objects, and the answers so far."""
        self._make()
        state: dict[str, Json] = {}
        for name, one in self.objects.items():
            for key, value in _public(one).items():
                state[f"{name}.{key}"] = value
        state["answers"] = list(self.answers)
        return state

    def _make(self) -> None:
        for name, kind in self.classes.items():
            if name not in self.objects:
                self.objects[name] = kind()
                if hasattr(kind, "_load_scenario"):
                    self.objects[name]._load_scenario(deepcopy(self.scenario.get(name, {})), long_context=self.is_long)


class Method:
    """A function of the simulators as their documentation declares it."""

    def __init__(self, function: Mapping[str, Any], simulators: Simulators) -> None:
        self.__doc__ = documentation(function)
        self.__signature__ = signature(function["parameters"])
        self.name = function["name"]
        self.simulators = simulators

    def __call__(self, *arguments: Any, **keywords: Any) -> Json:
        """Call the function."""
        return self.simulators.call(self.name, bound(self.__signature__, arguments, keywords))


def bfcl_multi_turn_cases(data: str | None) -> list[Case]:
    """Return the 800 tasks, judged by state and gold answers.

    Raises:
        UserError: There is no download, or it is another wheel.
    """
    download = open_download(data, "bfcl_multi_turn", WHEEL)
    modules = download.modules([f"{_SOURCE}.{module}" for module, _ in SIMULATORS.values()], {})
    classes = {name: getattr(module, name) for name, module in zip(SIMULATORS, modules, strict=True)}
    documented = {}
    for name, (_, file) in SIMULATORS.items():
        described = read_lines(download, f"multi_turn_func_doc/{file}.json")
        documented[name] = {one["name"]: one for one in described}
    cases = []
    for category in MULTI_TURN_CATEGORIES:
        gold = _gold(download, category)
        for number, task in enumerate(read_lines(download, f"BFCL_v4_multi_turn_{category}.json")):
            cases.append(_case(category, number, task | {"gold": gold[task["id"]]}, classes, documented))
    return cases


def _gold(download: Download, category: str) -> dict[str, list[list[str]]]:
    lines = read_lines(download, f"possible_answer/BFCL_v4_multi_turn_{category}.json")
    return {one["id"]: one["ground_truth"] for one in lines}


def _case(
    category: str,
    number: int,
    task: Mapping[str, Any],
    classes: Mapping[str, type],
    documented: Mapping[str, Mapping[str, Any]],
) -> Case:
    involved = {name: classes[name] for name in task["involved_classes"]}
    simulators = Simulators(involved, task["initial_config"], is_long=category == "long_context")
    functions: dict[str, Any] = {}
    for kind in involved:
        functions.update(documented[kind])
    world = World(
        functions={name: Method(one, simulators) for name, one in functions.items()},
        schemas={
            name: {"description": one["description"], "parameters": json_schema(one["parameters"])}
            for name, one in functions.items()
        },
        read_state=simulators.state,
    )
    late = task.get("missed_function", {})
    turns = []
    for place, (messages, calls) in enumerate(zip(task["question"], task["gold"], strict=True)):
        question = "\n".join(message["content"] for message in messages) or _ADDED
        turns.append(Turn(question, "\n".join(calls), added=tuple(late.get(str(place), ()))))
    check = partial(_differing, tuple(accumulate(map(len, task["gold"]))))
    source = f"{WHEEL}, {task['id']}, state and answers"
    return Case("bfcl_multi_turn", category, number, world, tuple(turns), _INSTRUCTIONS, check, source=source)


def _differing(ends: tuple[int, ...], expected: Mapping[str, Json], actual: Mapping[str, Json]) -> tuple[str, ...]:
    """Return the differing attributes, and `answers` where a gold answer is missing.

    A turn's gold answers may have been got in any turn before it. `ends` are the counts of gold calls after each turn.
    """
    names = [name for name in sorted(expected.keys() | actual.keys()) if name != "answers"]
    wrong = [name for name in names if expected.get(name) != actual.get(name)]
    start = max((end for end in ends if end < len(expected["answers"])), default=0)
    missing = Counter(expected["answers"][start:]) - Counter(actual["answers"])
    if missing:
        wrong.append("answers")
    return tuple(wrong)


def _as_text(value: Any) -> str:
    """Return an answer as text, as the wheel compares it."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        try:
            return json.dumps(value)
        except TypeError:
            return str(value)
    return str(value)


def _as_json(value: Any) -> Any:
    """Return an answer as JSON values, else as its text."""
    if isinstance(value, str):
        return value
    try:
        return json.loads(json.dumps(value))
    except TypeError:
        return str(value)


def _public(value: Any) -> Json:
    """Return an object's public attributes as JSON, without its parent."""
    if isinstance(value, Mapping):
        return {str(key): _public(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_public(inner) for inner in value]
    if isinstance(value, set):
        return sorted(map(_public, value), key=str)
    if _has_attributes(value):
        return {key: _public(inner) for key, inner in vars(value).items() if _is_public(key)}
    if isinstance(value, str | int | float | bool | None):
        return value
    return str(value)


def _has_attributes(value: Any) -> bool:
    return hasattr(value, "__dict__") and not inspect.isroutine(value)


def _is_public(attribute: str) -> bool:
    return not attribute.startswith("_") and attribute != "parent"
