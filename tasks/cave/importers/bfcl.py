"""BFCL's single-turn tasks from a download of the wheel `bfcl-eval`.

The paper compares executed results (arXiv 2601.01569, section 4.1.2); the 1,000 tasks have no executable form, so ours
is the AST rule, and every heading says so.
"""

import inspect
import json
import keyword
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any

from carryover.tasks.cave.importers.bfcl_rule import OMITTED, Accepted, wrong_calls
from carryover.tasks.cave.importers.download import Download, open_download
from carryover.tasks.cave.suites.case import OTHERS, Case, Turn, World, bound
from carryover.tasks.cave.suites.values import Json

CATEGORIES = ("simple_python", "multiple", "parallel", "parallel_multiple")
WHEEL = "bfcl-eval 2026.3.23"
_JSON_TYPES = {"dict": "object", "float": "number", "tuple": "array"}
_INSTRUCTIONS = "Call what the request asks for, once each, with the arguments it gives; results do not matter."


@dataclass
class Log:
    """The calls of an episode."""

    calls: list[list[Json]] = field(default_factory=list)

    def state(self) -> dict[str, Json]:
        """Return what is checked."""
        return {"calls": [list(call) for call in self.calls]}


class Stub:
    """A function that records how it was called, under its own name."""

    def __init__(self, function: Mapping[str, Any], log: Log) -> None:
        self.__doc__ = documentation(function)
        self.__signature__ = signature(function["parameters"])
        self.name = function["name"]
        self.log = log

    def __call__(self, *arguments: Any, **keywords: Any) -> str:
        """Record the call."""
        self.log.calls.append([self.name, bound(self.__signature__, arguments, keywords)])
        return "called"


def bfcl_cases(data: str | None) -> list[Case]:
    """Return the 1,000 tasks, one turn each.

    Raises:
        UserError: There is no download, or it lacks a file.
    """
    download = open_download(data, "bfcl", WHEEL)
    cases = []
    for category in CATEGORIES:
        tasks = read_lines(download, f"BFCL_v4_{category}.json")
        gold = read_lines(download, f"possible_answer/BFCL_v4_{category}.json")
        answers = {one["id"]: one["ground_truth"] for one in gold}
        cases += [_case(category, number, task, answers[task["id"]]) for number, task in enumerate(tasks)]
    return cases


def escaped(name: str) -> str:
    """Return a function's name without dots, which endpoints refuse."""
    return name.replace(".", "__")


def _case(category: str, number: int, task: Mapping[str, Any], answer: list[Mapping[str, Any]]) -> Case:
    log = Log()
    functions = {function["name"]: function for function in task["function"]}
    named = chain.from_iterable(call.items() for call in answer)
    wanted = [Accepted(name, values) for name, values in named]
    golden = "\n".join(f"{escaped(one.function)}(**{_gold(functions[one.function], one)!r})" for one in wanted)
    question = "\n".join(message["content"] for message in task["question"][0])
    schemas = {name: function["parameters"] for name, function in functions.items()}
    return Case(
        "bfcl",
        category,
        number,
        _world(functions, log),
        (Turn(question, golden),),
        _INSTRUCTIONS,
        partial(_differing, schemas, wanted),
        source=f"{WHEEL}, {task['id']}, AST rule",
    )


def _world(functions: Mapping[str, Mapping[str, Any]], log: Log) -> World:
    """Return the world of a task: functions that note their calls."""
    schemas = {
        escaped(name): {"description": function["description"], "parameters": json_schema(function["parameters"])}
        for name, function in functions.items()
    }
    return World(
        functions={escaped(name): Stub(function, log) for name, function in functions.items()},
        schemas=schemas,
        namespaced={name: escaped(name) for name in functions if "." in name},
        read_state=log.state,
    )


def _differing(
    schemas: Mapping[str, Mapping[str, Any]],
    wanted: list[Accepted],
    _expected: Mapping[str, Json],
    actual: Mapping[str, Json],
) -> tuple[str, ...]:
    return wrong_calls(schemas, [(name, arguments) for name, arguments in actual["calls"]], wanted)


def _gold(function: Mapping[str, Any], accepted: Accepted) -> dict[str, Any]:
    """Return the declared parameters with their first nonempty values."""
    declared = function["parameters"]["properties"]
    return {key: _gold_value(value) for key, value in _first_values(accepted.values).items() if key in declared}


def _gold_value(value: Any) -> Any:
    """Return a value of which dictionaries list their accepted values by key."""
    if isinstance(value, dict):
        return _first_values(value)
    if isinstance(value, list):
        return [_gold_value(one) if isinstance(one, dict) else one for one in value]
    return value


def _first_values(accepted: Mapping[str, list[Any]]) -> dict[str, Any]:
    options = {key: [one for one in values if one != OMITTED] for key, values in accepted.items()}
    return {key: values[0] for key, values in options.items() if values}


def documentation(function: Mapping[str, Any]) -> str:
    """Return a function's schema as documentation, for arms with Python."""
    lines = [function["description"], "", "Args:"]
    schema = function["parameters"]
    for name, one in schema["properties"].items():
        kind = one["type"] if name in schema.get("required", ()) else f"{one['type']}, optional"
        rest = {key: value for key, value in one.items() if key not in ("type", "description")}
        lines.append(f"    {name} ({kind}): {one.get('description', '')} {json.dumps(rest) if rest else ''}".rstrip())
    return "\n".join(lines)


def signature(parameters: Mapping[str, Any]) -> inspect.Signature:
    """Return the parameters that a schema declares, required ones first."""
    required = parameters.get("required", [])
    names = sorted(parameters["properties"], key=lambda name: name not in required)
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    absent = inspect.Parameter.empty
    usable = [name for name in names if name.isidentifier() and not keyword.iskeyword(name)]
    listed = [inspect.Parameter(name, kind, default=absent if name in required else None) for name in usable]
    others = []
    if len(usable) < len(names):
        others = [inspect.Parameter(OTHERS, inspect.Parameter.VAR_KEYWORD)]
    return inspect.Signature([*listed, *others])


def json_schema(schema: Any) -> Any:
    """Return a schema with JSON's names of types."""
    if isinstance(schema, list):
        return [json_schema(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    known = {key: json_schema(value) for key, value in schema.items() if not (key == "type" and value == "any")}
    kind = known.get("type")
    if isinstance(kind, str):
        known["type"] = _JSON_TYPES.get(kind, kind)
    return known


def read_lines(download: Download, name: str) -> list[dict[str, Any]]:
    """Return the lines of a data file."""
    return [json.loads(line) for line in download.read(f"bfcl_eval/data/{name}").decode().splitlines()]
