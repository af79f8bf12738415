"""The repository paths that the READMEs name exist, and their commands are ones that the programs know."""

import importlib
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from flows.cli.command import run_as_command
from flows.cli.main import app

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
FINDINGS = (ROOT / "sql" / "results" / "README.md").read_text(encoding="utf-8")
MADE_BY_RUNNING = ("data", ".venv", "out")
"""Folders that git does not keep: what a run or `make` leaves."""


def named_paths(text):
    """Return the targets of links, and the words in backticks, that begin with the name of a part of the repository.

    A path with a folder counts as soon as its first folder exists, so one that is gone is not taken for a plain word.
    """
    kept = {entry.name for entry in ROOT.iterdir()} - {*MADE_BY_RUNNING}
    quoted = [word for span in re.findall(r"`+([^`]+)`+", text) for word in span.split()]
    quoted += re.findall(r"\]\(([^)]+)\)", text)
    paths = [word.partition("::")[0].rstrip(".,;:") for word in quoted]
    return {path for path in paths if re.fullmatch(r"[\w./*-]+", path) and path.split("/")[0] in kept}


def missing_paths(text):
    return sorted(path for path in named_paths(text) if not any(ROOT.glob(path)))


def test_every_path_that_a_readme_names_exists():
    assert {"sql/README.md", "tasks/*.py", "deployments/constraints.txt"} <= named_paths(README)
    for text in (README, FINDINGS):
        assert missing_paths(text) == []


def test_a_path_that_is_gone_is_found():
    text = (
        "`data/new`, `laptop`, `tests/test_readme.py`, [a picture](sql/gone.svg), `pytest tests/test_gone.py::test_it`"
    )
    assert missing_paths(text) == ["sql/gone.svg", "tests/test_gone.py"]


def named_commands(text):
    """Return the commands of shell blocks and of backticks that call a flow or `carryover`, as words."""
    blocks = re.findall(r"```sh\n(.*?)```", text, flags=re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    lines += re.findall(r"`((?:python -m flows\.|(?:\.venv/bin/)?carryover )[^`]+)`", text.replace("\n", " "))
    split = [shlex.split(line, comments=True) for line in lines]
    return [words for words in split if words and (words[0].endswith("carryover") or words[1:2] == ["-m"])]


def check_command(words):
    """Raise what the program raises where it does not know an option, an argument or a value; run nothing."""
    if words[0] == "python":
        flow = getattr(importlib.import_module(words[2]), words[2].removeprefix("flows."))
        with pytest.raises(SystemExit) as end:
            run_as_command(flow, words[3:], answer=lambda _: True)
        assert end.value.code in (0, None), words
        return
    tool: Any = typer.main.get_command(app)
    context = tool.context_class(tool, info_name="carryover")
    name, command, rest = tool.resolve_command(context, words[1:])
    if rest:
        command.make_context(name, rest, parent=context)


@pytest.mark.parametrize("words", named_commands(README) + named_commands(FINDINGS), ids=" ".join)
def test_a_command_of_a_readme_is_one_that_the_program_knows(words):
    check_command(words)


def test_the_readmes_name_the_commands_of_flows_and_of_the_tool():
    named = {" ".join(words[:3]) for words in named_commands(README)}
    assert {"python -m flows.reproduce_study", "python -m flows.reevaluate_model"} <= named
    assert ".venv/bin/carryover doctor" in named


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("carryover tables 2 --format morse", "morse"),
        ("carryover tabels 2", "tabels"),
        ("carryover diff RUN", "Missing"),
        ("python -m flows.reproduce_study --scael paper", "scael"),
    ],
)
def test_a_command_that_no_program_knows_is_found(line, told):
    with pytest.raises(Exception, match=told):
        check_command(line.split())
