"""Every way out that a message names exists: options, commands, stages, targets of make and files."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperCommand, TyperGroup

from carryover.flows.cli.command import flow_options
from carryover.flows.cli.flow_commands import stages
from carryover.flows.cli.main import app
from tests.flattening import flat
from tests.flows.flow_process import ROOT

FLOWS = {
    ("run",): "reproduce_study",
    ("reevaluate",): "reevaluate_model",
    ("cave", "run"): "compare_arms",
    **{("stage", str(stage.name)): str(stage.name).replace("-", "_") for stage in stages.registered_commands},
}
"""Modules of the flows that are commands."""
OF_OTHERS = {
    "prefect worker start": {"--pool"},
    "python -m pip download": {"--no-deps"},
    "the data importers of `cave`": {"--data"},
    "our server": {"--model", "--gpu-memory-utilization", "--kv-cache-memory-bytes"},
    "every command": {"--help"},
}
"""Options that messages name and that are another program's, by what takes them."""
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
COMMAND = re.compile(r"`carryover((?: [a-z][a-z-]*)+)")
TARGET = re.compile(r"`make ([a-z-]+)`|(?<![\w`])make (demo|install|deploy|up|down|test)\b")
FILE = re.compile(r"\b(?:deployments|sql|tests)/[\w./-]+\.\w+")


@cache
def messages() -> list[tuple[str, str]]:
    """Return the sentences of the source that are no docstrings, each with its place."""
    files = flat(sorted((ROOT / folder).rglob("*.py")) for folder in ("flows", "storage", "tasks"))
    return flat(sentences(file) for file in files)


def sentences(file: Path) -> Iterator[tuple[str, str]]:
    nodes = list(ast.walk(ast.parse(file.read_text())))
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        text = sentence(node)
        if " " in text and id(node) not in docstrings:
            yield f"{file.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}", text


def sentence(node: ast.AST) -> str:
    match node:
        case ast.JoinedStr(values=values):
            return "".join(str(each.value) if isinstance(each, ast.Constant) else "{}" for each in values)
        case ast.Constant(value=str(text)):
            return text
        case _:
            return ""


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], TyperCommand]]:
    if not isinstance(command, TyperGroup):
        yield path, command
        return
    for name, each in command.commands.items():
        yield from commands(each, (*path, name))


COMMANDS = dict(commands(typer.main.get_command(app)))


def known_options() -> set[str]:
    parameters = flat(command.params for command in COMMANDS.values())
    options = set(flat(parameter.opts for parameter in parameters))
    for module in FLOWS.values():
        flow = getattr(import_module(f"carryover.flows.{module}"), module)
        flags = [option.annotation.__metadata__[0].default for option in flow_options(flow)[0]]
        options |= set(flat(flag.split("/") for flag in flags))
    return options


def named_by_messages(pattern: re.Pattern[str]) -> dict[str, str]:
    """Return what messages name by a pattern, each with a place."""
    named = {}
    for place, text in messages():
        named |= dict.fromkeys(pattern.findall(text), place)
    return named


def test_options_that_messages_name_exist():
    known = known_options() | set().union(*OF_OTHERS.values())
    named = named_by_messages(OPTION)
    assert {"--refresh", "--train-on", "--endpoint-url", "--plan"} <= named.keys()
    assert {option: place for option, place in named.items() if option not in known} == {}


def test_commands_that_messages_name_exist():
    named = {tuple(words.split()): place for words, place in named_by_messages(COMMAND).items()}
    assert {("merge",), ("stage", "train-models")} <= named.keys()
    assert {path: place for path, place in named.items() if path not in COMMANDS} == {}


def test_targets_that_messages_name_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    matches = flat(TARGET.findall(text) for _, text in messages())
    named = {target for target in flat(matches) if target}
    assert {"demo", "deploy"} <= named <= targets


def test_files_that_messages_name_exist():
    named = named_by_messages(FILE)
    assert "deployments/install_vllm.sh" in named
    assert {name: place for name, place in named.items() if not (ROOT / name).exists()} == {}


WITHOUT_DATA = {("family", "check"), ("family", "new"), ("probe",), ("schema",), ("serve",)}
"""Commands that read no data folder."""


@pytest.mark.parametrize("path", sorted(set(COMMANDS) - WITHOUT_DATA), ids=" ".join)
def test_every_command_on_data_takes_a_data_folder(path):
    """Those of flows get the option with their parameters."""
    command = COMMANDS[path]
    is_flow = bool(command.context_settings.get("ignore_unknown_options"))
    assert is_flow == (path in FLOWS)
    assert is_flow or "--home" in set(flat(each.opts for each in command.params))
