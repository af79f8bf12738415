"""Options that several commands share."""

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from carryover.tasks.traces.vocabulary import TableFormat

Home = Annotated[Path | None, typer.Option("--home", help="Data folder; default: CARRYOVER_HOME or ./data.")]
Plan = Annotated[str | None, typer.Option(help="Digest of a plan; default: the latest finished plan.")]
Comparison = Annotated[str | None, typer.Option("--plan", help="Digest of a comparison; default: the latest.")]
Results = Annotated[
    str | None, typer.Option(help="Read kept results instead: `laptop_full`, or a folder that `keep` wrote.")
]
Format = Annotated[TableFormat, typer.Option("--format", help="How rows are printed.")]
_UnreadHome = Annotated[Path | None, typer.Option("--home", help="Accepted by every command; unused here.")]


def takes_home(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command that takes `--home` too, though it reads no data folder.

    Scripts and aliases can then pass it to every command.
    """

    @wraps(command)
    def call(*, home: Path | None = None, **given: Any) -> Any:
        return command(**given)

    signature = inspect.signature(command)
    home = inspect.Parameter("home", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_UnreadHome)
    call.__signature__ = signature.replace(parameters=[*signature.parameters.values(), home])  # type: ignore[attr-defined]
    call.__annotations__ = {**command.__annotations__, "home": _UnreadHome}
    return call
