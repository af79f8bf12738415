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
from carryover.tasks.plans.apply_overrides import _OF_A_BASE, apply_overrides
from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.plans.presets import PLANS
from carryover.tasks.services.errors import UserError
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
TAKE_PLANS = [path for path in FLOWS if path[0] in ("run", "stage")]
"""Commands that take a plan and its overrides."""
OF_PLANS = re.compile(
    r"tasks/(plans|datasets|sft|stages|reinforcement)/"
    r"|tasks/(analyse|collect|generate|prepare|provide_tokenizer|reinforce|train|train_arms)\.py"
)
"""Files whose messages are for the callers of these."""
OF_FEWER = {
    "tasks/plans/models.py": [("reevaluate",)],
    "tasks/plans/preflight.py": [("run",)],
    "tasks/sft/card.py": [("reevaluate",)],
    "tasks/stages/imports.py": [("import",)],
}
"""Callers of some of them, where they are others."""
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
COMMAND = re.compile(r"`carryover((?: [a-z][a-z-]*)+)")
TARGET = re.compile(r"`make ([a-z-]+)`|(?<![\w`])make (demo|install|deploy|up|down|test)\b")
FILE = re.compile(r"\b(?:deployments|sql|tests)/[\w./-]+\.\w+")


@cache
def messages() -> list[tuple[str, str]]:
    """Return the sentences of the source that are no docstrings, each with its place."""
    return [(place, text) for place, text in texts() if " " in text]


@cache
def texts() -> list[tuple[str, str]]:
    """Return the texts of the source that are no docstrings, each with its place."""
    files = flat(sorted((ROOT / folder).rglob("*.py")) for folder in ("flows", "storage", "tasks"))
    return flat(texts_of(file) for file in files)


def texts_of(file: Path) -> Iterator[tuple[str, str]]:
    nodes = list(ast.walk(ast.parse(file.read_text())))
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        text = text_of(node)
        if text and id(node) not in docstrings:
            yield f"{file.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}", text


def text_of(node: ast.AST) -> str:
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


@cache
def options_of(path: tuple[str, ...]) -> frozenset[str]:
    """Return the options of a command, those of its flow among them."""
    options = set(flat(parameter.opts for parameter in COMMANDS[path].params))
    if path in FLOWS:
        module = FLOWS[path]
        flow = getattr(import_module(f"carryover.flows.{module}"), module)
        flags = [option.annotation.__metadata__[0].default for option in flow_options(flow)[0]]
        options |= set(flat(flag.split("/") for flag in flags))
    return frozenset(options)


def named_by_messages(pattern: re.Pattern[str]) -> dict[str, str]:
    """Return what messages name by a pattern, each with a place."""
    named = {}
    for place, text in messages():
        named |= dict.fromkeys(pattern.findall(text), place)
    return named


def test_options_that_messages_name_exist():
    known = set().union(*map(options_of, COMMANDS), *OF_OTHERS.values())
    named = named_by_messages(OPTION)
    assert {"--refresh", "--train-on", "--endpoint-url", "--plan"} <= named.keys()
    assert {option: place for option, place in named.items() if option not in known} == {}


def test_options_that_messages_on_plans_name_are_those_of_its_commands():
    """A message on a plan is read by who has called `run` or any stage."""
    named = []
    for place, text in messages():
        file = place.partition(":")[0]
        if OF_PLANS.match(file):
            callers = OF_FEWER.get(file, TAKE_PLANS)
            named += [(option, place, path) for option in OPTION.findall(text) for path in callers]
    assert {"--retention", "--refresh", "--minimum-yield", "--train-on"} <= {option for option, _, _ in named}
    assert [each for each in named if each[0] not in options_of(each[2])] == []


def test_every_command_takes_a_data_folder():
    """A flow's command does too, as `run_as_command` adds it to the flow's own options."""
    assert [path for path in COMMANDS if path not in FLOWS and "--home" not in options_of(path)] == []


OF_PRETRAINED = {
    "base_model": "a/b", "base_revision": "c", "engine": "cpu", "method": "lora", "precision": "float32",
    "chat_template": "chatml", "lora_rank": 8, "device": "cpu",
}  # fmt: skip
"""A value of every override that a plan from scratch refuses."""
OF_THE_KNAPSACK = {"bucket": "small", "teacher_habits": "varied"}


@pytest.mark.parametrize(
    "overrides",
    [
        *({field: value} for field, value in OF_PRETRAINED.items()),
        *({field: value, "family": "log_triage"} for field, value in OF_THE_KNAPSACK.items()),
    ],
    ids=lambda overrides: next(iter(overrides)),
)
def test_refused_override_is_named_as_the_option_it_is(overrides):
    field, value = next(iter(overrides.items()))
    with pytest.raises(UserError) as caught:
        apply_overrides(PLANS["laptop"](""), Overrides.model_validate(overrides))
    named = OPTION.findall(str(caught.value))
    assert str(caught.value).startswith(f"--{field.replace('_', '-')} {value} ")
    assert all(set(named) <= options_of(path) for path in TAKE_PLANS)


def test_options_are_put_together_where_the_test_above_looks():
    made = [place for place, text in texts() if text.startswith("--{}")]
    assert {place.partition(":")[0] for place in made} == {"tasks/plans/apply_overrides.py"}
    assert set(OF_PRETRAINED) == {*_OF_A_BASE, "device"}


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
