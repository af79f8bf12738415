"""A flow as a command: the same parameters, defaults and descriptions that the Prefect UI shows."""

import atexit
import json
import logging
import os
import re
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click
import httpx
from prefect import Flow
from prefect.exceptions import ParameterTypeError
from prefect.utilities.callables import parameter_schema
from pydantic import ValidationError

from carryover.flows.cli.prefect_server import prefect_server
from carryover.flows.cli.start import INTERRUPTED
from carryover.storage.errors import StorageError
from carryover.tasks.agent.loop import ContractViolationError
from carryover.tasks.checks.run import CheckBackendError
from carryover.tasks.knapsack.sampling import SamplingError
from carryover.tasks.knapsack.validate import InvalidInstanceError
from carryover.tasks.running.errors import UserError
from carryover.tasks.runtime.sandbox.launch import SandboxStartError
from carryover.tasks.runtime.sandbox.level import SandboxUnavailableError

SHOWN_ERRORS = (
    UserError,
    StorageError,
    ValidationError,
    ParameterTypeError,
    ContractViolationError,
    SandboxUnavailableError,
    SandboxStartError,
    SamplingError,
    InvalidInstanceError,
    CheckBackendError,
    httpx.HTTPError,
    OSError,
)
"""Errors whose text is meant for the user."""
USAGE = 2
"""Exit code of a command that was called in a way that it does not know."""

Answer = Callable[[Mapping[str, Any]], bool]
"""Takes a flow's parameters and tells whether it has answered already, so that the flow need not run."""


def run_as_command(
    flow: Flow[..., Any], arguments: Sequence[str] | None = None, *, answer: Answer = lambda _: False
) -> None:
    """Run a flow with parameters from the command line and exit.

    A problem that the user can mend is one line on standard error and exit code 1, or 2 for a bad option. Where
    `answer` is enough, no Prefect server is started.
    """
    schema = parameter_schema(flow.fn)
    options: list[click.Parameter] = []
    groups: dict[str, list[str]] = {}
    for name, field in schema.properties.items():
        kind = _resolve(field, schema.definitions)
        if "properties" in kind:
            groups[name] = list(kind["properties"])
            options += [_option_of(part, inner, schema.definitions) for part, inner in kind["properties"].items()]
        else:
            options.append(_option_of(name, field, schema.definitions, is_required=name in schema.required))

    def call(**values: Any) -> int:
        for group, names in groups.items():
            given = {name: values.pop(name) for name in names}
            values[group] = {name: value for name, value in given.items() if value is not None}
        return _call_flow(flow, values, answer)

    summary = (flow.description or "").split("\n\nArgs:")[0]
    command = click.Command(name=flow.name, callback=call, params=options, help=summary)
    name = f"python -m carryover.flows.{flow.fn.__name__}"
    try:
        code = command.main(list(arguments) if arguments is not None else None, name, standalone_mode=False)
    except click.UsageError as error:
        click.echo(f"carryover: {one_line(error)} (see {name} --help)", err=True)
        code = USAGE
    atexit.register(_end_quietly)
    sys.exit(code)


def _call_flow(flow: Flow[..., Any], parameters: dict[str, Any], answer: Answer) -> int:
    """Run the flow unless it is answered already, and return the exit code."""
    _silence_prefect()
    signal.siginterrupt(signal.SIGINT, True)  # Polars' handler would let a wait for tasks go on
    try:
        parameters = flow.validate_parameters(parameters)
        if not answer(parameters):
            with prefect_server():
                flow(**parameters)
    except SHOWN_ERRORS as error:
        click.echo(f"carryover: {one_line(error)}", err=True)
        return 1
    except KeyboardInterrupt:
        click.echo("stopped; the same command goes on where this one stopped", err=True)
        return INTERRUPTED
    return 0


def _silence_prefect() -> None:
    """Let a person see no log of Prefect's: what they must know is said here, in one line.

    A log that a slow server does not take would be told in half a line, to which the next progress is glued.
    """
    logging.getLogger("prefect").setLevel(logging.CRITICAL)
    logging.getLogger("prefect._internal").handlers = [logging.NullHandler()]  # it heeds no level
    logging.raiseExceptions = False


def _end_quietly() -> None:
    """Close standard error to what native libraries say while the interpreter ends.

    DuckDB's binding lists every object that a run left alive, dozens of lines below the ones that count.
    """
    sys.stderr.flush()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def _option_of(
    name: str, field: dict[str, Any], definitions: dict[str, Any], *, is_required: bool = False
) -> click.Option:
    kind = _resolve(field, definitions)
    settings: dict[str, Any] = {
        "help": field.get("description"),
        "required": is_required,
        "default": field.get("default"),
        "show_default": field.get("default") is not None,
    }
    flag = "--" + name.replace("_", "-")
    if kind.get("type") == "boolean":
        return click.Option([f"{flag}/--no-{flag[2:]}" if field.get("default") else flag], is_flag=True, **settings)
    return click.Option([flag], type=_click_type(kind), **settings)


def _resolve(field: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of the value proper: a reference followed, `null` left out."""
    if "$ref" in field:
        return definitions[field["$ref"].rsplit("/", 1)[1]]
    for alternative in field.get("anyOf", field.get("allOf", ())):
        if alternative.get("type") != "null":
            return _resolve(alternative, definitions)
    return field


def _click_type(kind: dict[str, Any]) -> click.ParamType:
    if "enum" in kind:
        return click.Choice([str(value) for value in kind["enum"]])
    match kind.get("type"):
        case "integer":
            return click.INT
        case "number":
            return click.FLOAT
        case "array":
            return ListValue()
        case "object":
            return JsonValue()
        case _:
            return click.STRING


class JsonValue(click.ParamType):
    """A parameter given as JSON, e.g. `'{"evaluation_count": 20}'`."""

    name = "json"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse the text, or fail with the place where it is not JSON."""
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value)
        except json.JSONDecodeError as error:
            self.fail(f"{value!r} is not JSON: {error}", param, ctx)


class ListValue(click.ParamType):
    """A list given as `25,80,none`, or as JSON; numbers count as numbers, everything else as text."""

    name = "list"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Split the text, or read it as JSON where it begins like a list."""
        if not isinstance(value, str):
            return value
        if value.lstrip().startswith("["):
            return JsonValue().convert(value, param, ctx)
        return [int(word) if re.fullmatch(r"-?\d+", word) else word for word in map(str.strip, value.split(","))]


def one_line(error: BaseException) -> str:
    """Return an error's text as one line; of bad values, the first with its place."""
    if isinstance(error, ParameterTypeError) and isinstance(error.__context__, ValidationError):
        return one_line(error.__context__)
    if isinstance(error, click.UsageError):
        return " ".join(error.format_message().split())
    if isinstance(error, httpx.HTTPError):
        said = " ".join(str(error).split()) or "no message"
        return (
            f"a request over HTTP failed ({type(error).__name__}: {said}); start again when the Prefect server answers"
        )
    if not isinstance(error, ValidationError):
        return " ".join(str(error).split())
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"bad value {first['input']!r} for {place}: {first['msg'].removeprefix('Value error, ')}"
