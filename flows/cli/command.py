"""Flows as commands, with the parameters that the Prefect UI shows."""

import atexit
import inspect
import json
import logging
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import httpx
import typer
import yaml
from prefect import Flow
from prefect.exceptions import ParameterTypeError
from prefect.settings import PREFECT_API_URL
from pydantic import ValidationError

from carryover.flows.cli.errors import OneLineCommand, StoppedError, one_line
from carryover.flows.cli.machine.prefect_server import prefect_server
from carryover.flows.cli.messages import keep_logs_off_terminal, silence_exit
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.folders import use_home
from carryover.tasks.services.text import read_text_file

EarlyAnswer = Callable[[Mapping[str, Any]], bool]
"""Takes a flow's parameters and returns whether it has answered already, so that the flow need not run."""
_HOME = inspect.Parameter(
    "home",
    inspect.Parameter.KEYWORD_ONLY,
    default=None,
    annotation=Annotated[Path | None, typer.Option(help="Data folder; default: CARRYOVER_HOME or ./data.")],
)

_CONFIG = inspect.Parameter(
    "config",
    inspect.Parameter.KEYWORD_ONLY,
    default=None,
    annotation=Annotated[
        Path | None, typer.Option("--config", help="YAML file of options by name; the command line wins.")
    ],
)


def run_as_command(
    flow: Flow[..., Any],
    arguments: Sequence[str] | None = None,
    *,
    name: str | None = None,
    answer: EarlyAnswer | None = None,
) -> None:
    """Run a flow with parameters from the command line and exit.

    Without a Prefect server where `answer` is enough.

    A user error is one line on standard error and exit code 1, or 2 for a bad option.
    """
    options, groups = flow_options(flow)

    def call(home: Path | None = None, config: Path | None = None, **given: Any) -> None:
        if home is not None:
            use_home(home)
        values = {} if config is None else read_options(config, [option.name for option in options])
        values |= {option: value for option, value in given.items() if value is not None}
        for group, members in groups.items():
            values[group] = {member: values.pop(member) for member in members if member in values}
        call_flow(flow, values, answer)

    shown = [*options, _HOME, _CONFIG]
    call.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    call.__annotations__ = {option.name: option.annotation for option in shown}
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command(cls=OneLineCommand, help=(flow.description or "").split("\n\nArgs:")[0])(call)
    atexit.register(silence_exit)
    app(list(arguments) if arguments is not None else None, prog_name=name or flow.name)


def read_options(file: Path, known: Sequence[str]) -> dict[str, Any]:
    """Return the options in a YAML file, by name.

    Raise `UserError` for a file that holds none or an unknown one.
    """
    try:
        content = yaml.safe_load(read_text_file(file))
    except (OSError, yaml.YAMLError) as error:
        raise UserError(f"cannot read options from {file}: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict):
        raise UserError(f"{file} holds no options; write one a line, e.g. train_count: 400")
    options = {str(name).replace("-", "_"): value for name, value in content.items()}
    unknown = [name for name in options if name not in known]
    if unknown:
        raise UserError(f"unknown option {unknown[0]!r} in {file}; choose from {', '.join(known)}")
    return options


def flow_options(flow: Flow[..., Any]) -> tuple[list[inspect.Parameter], dict[str, list[str]]]:
    """Return a flow's parameters as options, and nested ones by name.

    An option may be a field of one parameter.
    """
    schema = flow.parameters
    groups: dict[str, list[str]] = {}
    options: list[inspect.Parameter] = []
    for parameter, field in schema.properties.items():
        fields = _resolve(field, schema.definitions).get("properties")
        if fields is not None:
            groups[parameter] = list(fields)
        for option, described in (fields or {parameter: field}).items():
            options.append(_option(option, described, schema.definitions, is_required=option in schema.required))
    return options, groups


def call_flow(flow: Flow[..., Any], values: dict[str, Any], answer: EarlyAnswer | None) -> None:
    """Run the flow unless it is answered already.

    Print what a user must know; logs go to a server.
    """
    keep_logs_off_terminal()
    if PREFECT_API_URL.value() is None:
        logging.getLogger("prefect").setLevel(logging.CRITICAL)
    logging.getLogger("prefect._internal").handlers = [logging.NullHandler()]  # it heeds no level
    logging.raiseExceptions = False
    signal.siginterrupt(signal.SIGINT, True)  # Polars' handler would let a wait for tasks go on
    try:
        bound = inspect.signature(flow.fn).bind(**flow.validate_parameters(values))
        bound.apply_defaults()
        if answer is None or not answer(bound.arguments):
            with prefect_server():
                flow(**bound.arguments)
    except ParameterTypeError as error:
        cause = error.__context__
        raise UserError(one_line(cause if isinstance(cause, ValidationError) else error)) from error
    except httpx.HTTPError as error:
        cause = f"{type(error).__name__}: {' '.join(str(error).split()) or 'no message'}"
        raise UserError(f"an HTTP request failed ({cause}); run the command again when its server answers") from error
    except KeyboardInterrupt:
        raise StoppedError("stopped; the same command resumes the run") from None


def _option(name: str, field: dict[str, Any], definitions: dict[str, Any], *, is_required: bool) -> inspect.Parameter:
    """Return a parameter of Typer's for a field.

    One that is not given is `None`, and the flow's default holds.
    """
    kind = _resolve(field, definitions)
    default = field.get("default")
    summary = field.get("description") or ""
    flag = "--" + name.replace("_", "-")
    has_negation = kind.get("type") == "boolean" and (default or _is_nullable(field))
    if has_negation:
        flag = f"{flag}/--no-{flag[2:]}"
    settings = {"help": f"{summary}  [default: {default}]" if default else summary, **_PARSED.get(kind.get("type"), {})}
    annotation: Any = Literal[tuple(kind["enum"])] if "enum" in kind else _ANNOTATIONS.get(kind.get("type"), str)
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if is_required else None,
        annotation=Annotated[annotation, typer.Option(flag, **settings)],
    )


def _resolve(field: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """Return a value's schema, references followed and `null` left out."""
    if "$ref" in field:
        return definitions[field["$ref"].rsplit("/", 1)[1]]
    for alternative in field.get("anyOf", field.get("allOf", ())):
        if alternative.get("type") != "null":
            return _resolve(alternative, definitions)
    return field


def _is_nullable(field: dict[str, Any]) -> bool:
    """Tell whether a field may be left to the plan.

    Such a flag has both forms, for true and for false.
    """
    return any(alternative.get("type") == "null" for alternative in field.get("anyOf", ()))


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise typer.BadParameter(f"{text!r} is not JSON: {error}") from error


def _parse_list(text: str) -> Any:
    """Return a list given as `25,80,none` or as JSON.

    The flow makes numbers of its words.
    """
    if text.lstrip().startswith("["):
        return _parse_json(text)
    return [word.strip() for word in text.split(",")]


_ANNOTATIONS: dict[Any, Any] = {"boolean": bool, "integer": int, "number": float, "array": Any, "object": Any}
"""Types of an option by the type in a schema; any other is text."""
_PARSED: dict[Any, dict[str, Any]] = {
    "array": {"parser": _parse_list, "metavar": "LIST"},
    "object": {"parser": _parse_json, "metavar": "JSON"},
}
"""Settings of options whose text is parsed."""
