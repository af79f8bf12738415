"""Everything that single commands and calls do to state beyond names, in order."""

import json
from pathlib import Path

import pytest

from carryover.tasks.lint.executed import execute_on_paper
from carryover.tasks.lint.shell import shell_effects
from carryover.tasks.readers.trace import Block

EXPECTED = json.loads(Path(__file__).with_name("effects.json").read_text(encoding="utf-8"))


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
