"""Errors as one line on standard error."""

import re
import sys
from importlib.metadata import requires
from typing import Any

import typer
from pydantic import ValidationError
from typer.core import TyperCommand, TyperGroup

from carryover.storage.errors import QueryError
from carryover.tasks.services.errors import UserError

USER_EXTRAS = ("frames", "study", "viewer", "train", "weights")
"""Extras that a user's error names, the smallest first."""

INTERRUPTED = 130
"""Exit code of a command that was interrupted from the keyboard."""


class StoppedError(UserError):
    """A run was interrupted from the keyboard and can be resumed."""

    exit_code = INTERRUPTED


class _OneLine:
    """Prints every user error as one line, and exits with its code."""

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        """Run the command and exit.

        Outside of standalone mode, return its value and let errors through.
        """
        run: Any = super().main  # type: ignore[misc]  # of Typer's command or group
        if not standalone_mode:
            return run(*args, standalone_mode=False, **extra)
        try:
            code = run(*args, standalone_mode=False, **extra) or 0
            if code == INTERRUPTED:
                typer.echo("carryover: stopped", err=True)
        except ModuleNotFoundError as error:
            typer.echo(f"carryover: {_name_extra(error)}", err=True)
            code = 1
        except (typer.TyperException, UserError, ValidationError, OSError) as error:
            typer.echo(f"carryover: {one_line(error)}", err=True)
            code = getattr(error, "exit_code", 1)
        sys.exit(code)


class OneLineCommand(_OneLine, TyperCommand):
    """A single command whose errors are one line."""


class OneLineGroup(_OneLine, TyperGroup):
    """A command with subcommands whose errors are one line."""


def one_line(error: BaseException) -> str:
    """Return an error's text as one line.

    Of several bad values, the first with its place.
    """
    match error:
        case typer.TyperException():
            context = getattr(error, "ctx", None)
            see = ""
            if context:
                see = f" (see {context.command_path} --help)"
            cause = error.__cause__
            found = ""
            if isinstance(cause, ValidationError):
                found = f"; found {cause.errors()[0]['input']!r}"
            text = error.format_message().replace("Value error, ", "").rstrip(".") + found + see
        case ValidationError():
            first = error.errors()[0]
            place = ".".join(str(part) for part in first["loc"])
            text = f"bad value {first['input']!r} for {place}: {first['msg'].removeprefix('Value error, ')}"
        case QueryError():
            text = str(error).partition("\n\nLINE ")[0]
        case OSError() if error.filename is not None:
            text = f"cannot use {str(error.filename)!r}: {error.strerror}; check the path and its permissions"
        case _:
            text = str(error)
    return " ".join(text.split())


def _name_extra(error: ModuleNotFoundError) -> str:
    """Return the extra that installs a missing module.

    Raise the error again if none does.
    """
    module = (error.name or "").partition(".")[0]
    wanted = [requirement for requirement in requires("carryover") or () if _module_of(requirement) == module]
    for extra in USER_EXTRAS:
        if any(f'extra == "{extra}"' in requirement for requirement in wanted):
            way_out = f"pip install '.[{extra}]' in the checkout"
            return f"the module {module} is missing; install the extra `{extra}`: {way_out}"
    raise error


def _module_of(requirement: str) -> str:
    """Return the module that a requirement installs.

    A requirement is, for example, `great-expectations>=1.8; extra == "study"`.
    """
    distribution = re.split(r"[^\w.-]", requirement, maxsplit=1)[0]
    return distribution.replace("-", "_")
