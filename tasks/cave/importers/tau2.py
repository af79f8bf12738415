"""tau2-bench's airline and retail tasks from the wheel `inspect-evals`.

The tools and the databases are the wheel's, and so is the rule: Inspect's adaptation of tau2-bench passes a task by its
database and by what the user was told. PyPI's `tau2` is an unrelated package.
"""

import gzip
import hashlib
import inspect
import json
from collections.abc import Callable, Coroutine, Mapping
from contextvars import ContextVar
from copy import deepcopy
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, get_origin

from pydantic import BaseModel, TypeAdapter

from carryover.tasks.cave.importers.download import Download, open_download
from carryover.tasks.cave.suites.case import Case, Dialogue, Turn, World, bound
from carryover.tasks.cave.suites.values import Json
from carryover.tasks.runtime.inside.tools import ToolRuntimeException

WHEEL = "inspect-evals 0.26.0"
DOMAINS = {"airline": "AirlineAgentTools", "retail": "RetailAgentTools"}
_ROOT = "inspect_evals.tau2"
_DATA = "inspect_evals/tau2/data"
_INSTRUCTIONS = """You serve customers, and follow the policy below.
A reply either acts or is a message to the customer, never both; the customer answers a message without actions.

<policy>
{policy}
</policy>"""
_UNLESS_REFUSED = (
    "except Exception as error:",
    f"    if type(error).__name__ != {ToolRuntimeException.__name__!r}:",
    "        raise",
)
_OPEN: ContextVar[BaseModel] = ContextVar("open database")
_STUBS: dict[str, dict[str, Any]] = {
    "inspect_ai": {},
    "inspect_ai.tool": {"Tool": object, "ToolError": ToolRuntimeException, "tool": lambda function: function},
    "inspect_ai.util": {"StoreModel": BaseModel, "store_as": lambda _kind, _name: _OPEN.get()},
    f"{_ROOT}.utils": dict.fromkeys(("TAU2_DATA_DIR", "dump_file", "get_pydantic_hash", "load_file")),
}


@dataclass(frozen=True)
class Domain:
    """A domain of the wheel: its first database and its tools."""

    store: type[BaseModel]
    """Holds a database while tools work on it."""
    database: bytes
    tools: Mapping[str, Callable[..., Coroutine[Any, Any, str]]]
    task: type[BaseModel]
    """Model of a task: its scenario as text is what the simulated user reads."""

    def open(self) -> Any:
        """Return a new store."""
        return self.store.model_validate_json(b'{"initialized": true, "db": %b}' % self.database)

    @cached_property
    def records(self) -> dict[str, str]:
        """The records of the database, as JSON by table and key."""
        return _records(self.open())


class Desk:
    """The database of an episode, opened at its first use."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.store: Any = None

    def __deepcopy__(self, memo: dict[int, Any]) -> "Desk":
        """Return a desk with its own database and the shared domain."""
        copied = Desk(self.domain)
        copied.store = deepcopy(self.store, memo)
        return copied

    def call(self, name: str, arguments: Mapping[str, Any]) -> Json:
        """Call a tool on this database."""
        self.store = self.store or self.domain.open()
        token = _OPEN.set(self.store)
        try:
            self.domain.tools[name](**arguments).send(None)
        except StopIteration as end:
            text = end.value
            if text.startswith(("{", "[")):
                return json.loads(text)
            return text
        finally:
            _OPEN.reset(token)
        raise ToolRuntimeException(f"{name} waits for something")

    def state(self) -> dict[str, Json]:
        """Return the records that differ from those before the task."""
        if self.store is None:
            return {}
        before = self.domain.records
        return {name: json.loads(text) for name, text in _records(self.store).items() if before.get(name) != text}


class Tool:
    """A tool of the wheel over a desk, with JSON results."""

    def __init__(self, desk: Desk, name: str) -> None:
        function = desk.domain.tools[name]
        self.desk = desk
        self.name = name
        self.__doc__ = inspect.getdoc(function)
        signature = inspect.signature(function)
        hints = [one.replace(annotation=_told(one.annotation)) for one in signature.parameters.values()]
        self.__signature__ = signature.replace(parameters=hints, return_annotation=signature.empty)

    def __call__(self, *arguments: Any, **keywords: Any) -> Json:
        """Call the tool."""
        return self.desk.call(self.name, bound(self.__signature__, arguments, keywords))


def tau2_cases(data: str | None) -> list[Case]:
    """Return 50 airline and 114 retail tasks, a conversation each.

    Raises:
        UserError: There is no download, or it is another wheel.
    """
    download = open_download(data, "tau2", WHEEL, " (PyPI's package `tau2` is not tau2-bench)")
    cases = []
    for name in DOMAINS:
        cases += _domain_cases(download, name)
    return cases


def _domain_cases(download: Download, name: str) -> list[Case]:
    folder = f"{_DATA}/domains/{name}"
    domain = _domain(download, name)
    desk = Desk(domain)
    world = World(
        functions={tool: Tool(desk, tool) for tool in domain.tools},
        schemas={tool: _schema(function) for tool, function in domain.tools.items()},
        read_state=desk.state,
    )
    text = download.read(f"{folder}/tasks.json")
    revision = hashlib.sha256(text + domain.database).hexdigest()[:12]
    used = json.loads(download.read(f"{folder}/split_tasks.json"))["base"]
    instructions = _INSTRUCTIONS.format(policy=download.read(f"{folder}/policy.txt").decode())
    guidelines = download.read(f"{_DATA}/user_simulator/simulation_guidelines.txt").decode()
    cases = []
    for number, task in enumerate(task for task in json.loads(text) if task["id"] in used):
        turn = Turn(task["user_scenario"]["instructions"]["reason_for_call"], _golden(task))
        source = f"{WHEEL}, {name} {task['id']}, data {revision}, scored as Inspect adapted it"
        scenario = f"{guidelines}\n<scenario>\n{domain.task.model_validate(task).user_scenario}\n</scenario>\n"  # type: ignore[attr-defined]
        criteria = task["evaluation_criteria"]
        facts = tuple(criteria["communicate_info"] or ())
        judged = tuple(criteria["nl_assertions"] or ())
        dialogue = Dialogue(scenario, facts, judged)
        cases.append(
            Case("tau2", name, number, world, (turn,), instructions, _differing, source=source, dialogue=dialogue)
        )
    return cases


@cache
def _domain(download: Download, name: str) -> Domain:
    names = [f"{_ROOT}.{name}.{module}" for module in (DOMAINS[name], "tools")]
    stores, tools, tasks = download.modules([*names, f"{_ROOT}.data_model.tasks"], _STUBS)
    functions = [make() for make in getattr(tools, f"all_{name}_tools")]
    names = [make.__name__ for make in getattr(tools, f"all_{name}_tools")]
    database = gzip.decompress(download.read(f"{_DATA}/domains/{name}/db.json.gz"))
    return Domain(getattr(stores, DOMAINS[name]), database, dict(zip(names, functions, strict=True)), tasks.Task)


def _golden(task: Mapping[str, Any]) -> str:
    """Return the reference actions as a program, in which refusals are allowed."""
    lines = []
    for action in task["evaluation_criteria"]["actions"] or ():
        arguments = ", ".join(f"{key}={value!r}" for key, value in action["arguments"].items())
        lines += ["try:", f"    {action['name']}({arguments})", *_UNLESS_REFUSED]
    return "\n".join(lines)


def _differing(expected: Mapping[str, Json], actual: Mapping[str, Json]) -> tuple[str, ...]:
    """Return the records that differ, exactly as Inspect compares them."""
    names = sorted(expected.keys() | actual.keys())
    texts = [[json.dumps(state.get(name), sort_keys=True) for state in (expected, actual)] for name in names]
    return tuple(name for name, (one, other) in zip(names, texts, strict=True) if one != other)


def _records(store: Any) -> dict[str, str]:
    records = {}
    for table in type(store.db).model_fields:
        for key, row in getattr(store.db, table).items():
            records[f"{table} {key}"] = row.model_dump_json()
    return records


def _schema(function: Callable[..., Any]) -> dict[str, Json]:
    adapter: TypeAdapter[Any] = TypeAdapter(function)  # type: ignore[arg-type]
    return {"description": inspect.getdoc(function) or "", "parameters": adapter.json_schema()}


def _told(hint: Any) -> Any:
    """Return an annotation without the wheel's own classes, which no arm has."""
    if _ROOT not in str(hint):
        return hint
    return get_origin(hint) or inspect.Parameter.empty
