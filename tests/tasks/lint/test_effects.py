"""Everything that single commands and calls do to state beyond names, in order."""

import json
from pathlib import Path

import pytest

from carryover.tasks.lint.executed import execute_on_paper
from carryover.tasks.lint.shell import shell_effects
from carryover.tasks.readers.trace import Block

EXPECTED = json.loads(Path(__file__).with_name("effects.json").read_text(encoding="utf-8"))
LISTED = ["packages read ls", "directory read"]


def told(effects):
    return [" ".join(effect).strip() for effect in effects]


@pytest.mark.parametrize("command", EXPECTED["shell"])
def test_a_command_has_these_effects_and_names(command):
    block = shell_effects(command)
    found = {
        "effects": told(block.effects),
        "binds": sorted(block.binds),
        "reads": sorted(block.reads),
        "programs": list(block.programs),
        "scripts": list(block.scripts),
    }
    assert {key: held for key, held in found.items() if held} == EXPECTED["shell"][command]


@pytest.mark.parametrize("code", EXPECTED["python"])
def test_a_call_has_these_effects(code):
    assert told(execute_on_paper(Block(code), (), {}).effects) == EXPECTED["python"][code]


@pytest.mark.parametrize(
    ("code", "effects"),
    [
        ("open(name)", ["directory read", "files read x.txt"]),
        ("!cat { name }", ["packages read cat", "files read x.txt", "directory read"]),
        ("!python a.py", ["packages read python", "files read a.py", "directory read", "files read .", "files set b"]),
        ("%run a.py -v", ["packages read python", "files read a.py", "directory read", "files read .", "files set b"]),
        ("!python broken.py; ls", ["packages read python", "files read broken.py", "directory read", *LISTED]),
    ],
)
def test_a_call_takes_what_earlier_blocks_made_known(code, effects):
    constants: dict[str, str] = {}
    scripts = "%%writefile a.py\nopen('b', 'w')", "%%writefile broken.py\nx = ("
    for earlier in ("name = 'x.txt'", *scripts):
        execute_on_paper(Block(earlier), (), constants)
    assert told(execute_on_paper(Block(code), (), constants).effects) == effects


def test_an_assignment_replaces_a_text_that_was_known():
    constants = {"name": "old.txt", "other": "b"}
    execute_on_paper(Block("name = find()\nother = kept = 'c'\nrow[0] = 'd'"), (), constants)
    assert constants == {"other": "c", "kept": "c"}
