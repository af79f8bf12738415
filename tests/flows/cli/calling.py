"""The `carryover` command as tests call it."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from typer.main import get_command

from carryover.flows.cli.main import app

COMMAND: Any = get_command(app)
"""Built once: that takes longer than most calls. Its class is click's, or typer's own one of the same methods."""


def run(*arguments: object) -> str:
    """Call a command that must succeed and return what it printed; its errors come through."""
    return call(*arguments).stdout


def call(*arguments: object) -> Result:
    """Call a command that must succeed; its errors come through."""
    words = [str(each) for each in arguments]
    result = CliRunner().invoke(COMMAND, words, catch_exceptions=False, standalone_mode=False)
    assert result.exit_code == 0, result.output
    return result


def refused(*arguments: object) -> tuple[int, str]:
    """Call a command that must fail with one line; return its exit code and that line without `carryover: `."""
    result = CliRunner().invoke(COMMAND, [str(each) for each in arguments], catch_exceptions=False)
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("carryover: ")
    return result.exit_code, line.removeprefix("carryover: ")


def import_records(home: Path, records: Iterable[Mapping[str, Any]], *options: str) -> str:
    """Import chats into a data folder, made where there is none, and return what was printed."""
    home.mkdir(exist_ok=True)
    source = home.with_name(f"{home.name}.jsonl")
    source.write_text("\n".join(map(json.dumps, records)))
    return run("import", source, *options, "--home", home)


def note_calls(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, result: Any = None) -> list[tuple[Any, ...]]:
    """Replace a function of a module; return what it is given, options last."""
    seen: list[tuple[Any, ...]] = []

    def note(*arguments: Any, **options: Any) -> Any:
        seen.append((*arguments, options) if options else arguments)
        return result

    monkeypatch.setattr(module, name, note)
    return seen
