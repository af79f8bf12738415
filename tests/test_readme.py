"""The repository paths that the READMEs name exist, and their commands are ones that the programs know."""

import importlib
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.exceptions import TyperException

from flows.cli.command import USAGE, run_as_command
from flows.cli.main import app

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
FINDINGS = (ROOT / "sql" / "results" / "README.md").read_text(encoding="utf-8")
QUESTIONS = (ROOT / "sql" / "README.md").read_text(encoding="utf-8")
TEXTS = (README, FINDINGS, QUESTIONS)
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
    for text in TEXTS:
        assert missing_paths(text) == []


def test_a_path_that_is_gone_is_found():
    text = (
        "`data/new`, `laptop`, `tests/test_readme.py`, [a picture](sql/gone.svg), `pytest tests/test_gone.py::test_it`"
    )
    assert missing_paths(text) == ["sql/gone.svg", "tests/test_gone.py"]


PROGRAM = r"(?:\S*python -m (?:flows\.|pytest)|\S*carryover |pytest )"


def named_commands(text):
    """Return the commands of shell blocks and of backticks that call a flow, `carryover` or pytest, as words."""
    blocks = re.findall(r"```sh\n(.*?)```", text, flags=re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    lines += re.findall(rf"`({PROGRAM}[^`]+)`", re.sub("```.*?```", "", text, flags=re.DOTALL).replace("\n", " "))
    split = [shlex.split(re.sub(r"^(?:[A-Z_]+=\S+ )+", "", line), comments=True) for line in lines]
    return [words for words in split if re.match(PROGRAM, " ".join(words) + " ")]


def told_of(words, capsys):
    """Return a command's exit code and what it says where it does not know a word, 0 where it does; run nothing."""
    if words[0].endswith("python"):
        words = words[2:]
    if words[0] == "pytest":
        return told_by_pytest(words[1:])
    if words[0].startswith("flows."):
        flow = getattr(importlib.import_module(words[0]), words[0].removeprefix("flows."))
        with pytest.raises(SystemExit) as end:

        return end.value.code or 0, capsys.readouterr().err
    tool: Any = typer.main.get_command(app)
    context = tool.context_class(tool, info_name="carryover")
    try:
        name, command, rest = tool.resolve_command(context, words[1:])
        if rest:
            command.make_context(name, rest, parent=context)
    except TyperException as error:
        return error.exit_code, str(error)
    return 0, ""


def told_by_pytest(words):
    """Return 2 and the words that are no marker, no path and no option that the READMEs use, 0 where there is none."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    markers = [marker.partition(":")[0] for marker in settings["tool"]["pytest"]["ini_options"]["markers"]]
    unknown = [word for word in words if word not in ("-m", "-s", "...", *markers) and not is_path_or_test(word)]
    return (USAGE if unknown else 0), " ".join(unknown)


def is_path_or_test(word):
    path, _, test = word.partition("::")
    return (ROOT / path).exists() and (not test or f"def {test}(" in (ROOT / path).read_text(encoding="utf-8"))


@pytest.mark.parametrize("words", [words for text in TEXTS for words in named_commands(text)], ids=" ".join)
def test_a_command_of_a_readme_is_one_that_the_program_knows(words, capsys):
    assert told_of(words, capsys)[0] == 0


def test_the_readmes_name_the_commands_of_flows_and_of_the_tool():
    named = [{" ".join(words[:3]) for words in named_commands(text)} for text in TEXTS]
    assert {"python -m flows.reproduce_study", "python -m flows.reevaluate_model"} <= named[0]
    assert {".venv/bin/carryover doctor", "pytest -m benchmark"} <= named[0]
    assert "carryover tables seed_contrasts" in named[1]
    assert {".venv/bin/python -m pytest", "carryover export FOLDER"} <= named[2]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("carryover tables 2 --format morse", "morse"),
        ("carryover tables 2 --formta csv", "--formta"),
        (".venv/bin/carryover tabels 2", "tabels"),
        ("carryover diff RUN", "Missing"),
        ("python -m flows.reproduce_study --scael paper", "--scael"),
        (".venv/bin/python -m flows.reproduce_study --scael paper", "--scael"),
        (".venv/bin/python -m pytest -m sloow tests/test_readme.py", "sloow"),
        ("pytest -m slow tests/test_gone.py", "test_gone"),
        ("pytest tests/test_readme.py::test_gone", "test_gone"),
        ("pytest --sloow", "--sloow"),
    ],
)
def test_a_command_that_no_program_knows_is_found(line, told, capsys):
    code, said = told_of(line.split(), capsys)
    assert (code, told in said) == (USAGE, True)
