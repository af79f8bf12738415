"""The paths that READMEs name exist, and their commands are ones that the programs know."""

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from carryover.flows.cli.main import app
from tests.flattening import flat

ROOT = Path(__file__).parents[1]
OTHERS = {"data", "node_modules"}
"""Folders whose texts are not the project's."""
READMES = [ROOT / "README.md", *sorted(path for path in ROOT.glob("[a-z]*/**/README.md") if not OTHERS & {*path.parts})]
PAGES = [*READMES, *sorted(page for readme in READMES[1:] for page in readme.parent.glob("*.md") if page != readme)]
"""READMEs, and the pages beside them."""
MADE_BY_RUNNING = ("data", ".venv", "out")
"""Folders that git does not keep: what a run or `make` leaves."""
PROGRAM = r"(?:\S*carryover |\S*pytest |\S*python -m pytest)"


def missing_paths(text):
    """Return the repository paths in backticks and links that do not exist."""
    kept = {entry.name for entry in ROOT.iterdir()} - {*MADE_BY_RUNNING}
    quoted = flat(span.split() for span in re.findall(r"`+([^`]+)`+", text))
    quoted += re.findall(r"\]\(([^)]+)\)", text)
    paths = {word.partition("::")[0].rstrip(".,;:") for word in quoted}
    named = {path for path in paths if re.fullmatch(r"[\w./*-]+", path) and path.split("/")[0] in kept}
    return sorted(path for path in named if not any(ROOT.glob(path)))


def named_commands(text):
    """Return the commands of shell blocks and of backticks that call `carryover` or pytest, as words."""
    blocks = re.findall(r"```sh\n(.*?)```", text, flags=re.DOTALL)
    lines = flat(block.replace("\\\n", " ").splitlines() for block in blocks)
    lines += re.findall(rf"`({PROGRAM}[^`]+)`", re.sub("```.*?```", "", text, flags=re.DOTALL).replace("\n", " "))
    split = [shlex.split(re.sub(r"^(?:[A-Z_]+=\S+ )+", "", line), comments=True) for line in lines]
    return [words for words in split if re.match(PROGRAM, " ".join(words) + " ")]


def refusal(words, monkeypatch):
    """Return why a command is not known, or nothing; run nothing."""
    if not words[0].endswith("carryover"):
        settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
        markers = [marker.partition(":")[0] for marker in settings["tool"]["pytest"]["ini_options"]["markers"]]
        known = ("-m", "-s", "...", "pytest", *markers)
        rest = words[words.index("pytest") + 1 :] if "pytest" in words else words[1:]
        return " ".join(word for word in rest if word not in known and not is_path_or_test(word))
    if words[1] in ("run", "reevaluate", "stage"):  # their options are read when they are called
        monkeypatch.setattr("carryover.flows.cli.command.call_flow", lambda *_: None)
        return CliRunner().invoke(app, words[1:]).stderr
    tool: Any = typer.main.get_command(app)
    context = tool.make_context("carryover", words[1:])
    try:
        name, command, rest = tool.resolve_command(context, words[1:])
        command.make_context(name, rest, parent=context)
    except typer.TyperException as error:
        return error.format_message()
    return ""


def is_path_or_test(word):
    path, _, test = word.partition("::")
    return (ROOT / path).exists() and (not test or f"def {test}(" in (ROOT / path).read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_path_that_a_page_names_exists(path):
    assert missing_paths(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_command_of_a_page_is_known(path, monkeypatch):
    commands = named_commands(path.read_text(encoding="utf-8"))
    refusals = {" ".join(words): refusal(words, monkeypatch) for words in commands}
    assert {line: said for line, said in refusals.items() if said} == {}


def test_a_path_that_is_gone_is_found():
    text = "`data/new`, `tests/test_readme.py`, [a picture](sql/gone.svg), `pytest tests/test_gone.py::test_it`"
    assert missing_paths(text) == ["sql/gone.svg", "tests/test_gone.py"]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("carryover tables 2 --format morse", "morse"),
        (".venv/bin/carryover tabels 2", "tabels"),
        ("carryover diff RUN", "second_run"),
        ("carryover run --scael paper", "--scael"),
        (".venv/bin/python -m pytest -m sloow tests/test_readme.py", "sloow"),
        ("pytest tests/test_readme.py::test_gone", "test_gone"),
    ],
)
def test_a_command_that_no_program_knows_is_found(line, told, monkeypatch):
    assert told in refusal(line.split(), monkeypatch)


BY_NAME = re.compile(r"pip install\b[^\n`]*[\s'\"]carryover(\[[\w,]+\])?(?! @)(?=['\"\s`]|$)|--find-links")
"""Installs by name: PyPI's package `carryover` is another project."""


def test_nothing_installs_the_product_by_its_name():
    folders = [ROOT / name for name in ("deployments", "flows", "tasks", "storage", "sql")]
    files = [file for file in flat(folder.rglob("*") for folder in folders) if not OTHERS & {*file.parts}]
    texts = [file for file in files if file.is_file() and file.suffix in {"", ".md", ".py", ".sh"}]
    texts += [ROOT / "README.md", ROOT / "Makefile"]
    assert [str(file) for file in texts if BY_NAME.search(file.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize(
    ("line", "is_found"),
    [
        ("pip install 'carryover[mcp]'", True),
        ("`pip install carryover`", True),
        ("RUN pip install --find-links wheels .", True),
        ("pip install 'carryover[study] @ git+URL@COMMIT'", False),
        ("pip install -e CHECKOUT/deployments/environments/carryover_blocks", False),
    ],
)
def test_installs_by_name_are_told_from_others(line, is_found):
    assert bool(BY_NAME.search(line)) is is_found
