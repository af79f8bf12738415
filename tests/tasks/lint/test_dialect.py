"""Blocks of notebooks and late binding, each in plain Python."""

import ast
import json
from pathlib import Path

import pytest

from carryover.tasks.lint.dialect import expand_known, plain_block

EXPECTED = json.loads(Path(__file__).with_name("plain_blocks.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("kind", ["judged", "opaque"])
def test_a_block_in_plain_python(kind):
    found = {code: plain_block(code) for code in EXPECTED[kind]}
    assert {code: ast.unparse(block.tree) for code, block in found.items()} == EXPECTED[kind]
    assert {block.is_opaque for block in found.values()} == {kind == "opaque"}


@pytest.mark.parametrize("code", EXPECTED["shadowed"])
def test_a_builtins_name_that_the_code_binds_is_marked_everywhere(code):
    assert ast.unparse(plain_block(code, ("sum",)).tree) == EXPECTED["shadowed"][code]


@pytest.mark.parametrize("code", EXPECTED["refused"])
def test_a_cell_of_another_language_is_refused(code):
    with pytest.raises(SyntaxError):
        plain_block(code)


@pytest.mark.parametrize(
    ("code", "has_star_import"), [("from math import *", True), ("from math import pi\n2 * 3", False), ("2 * 3", False)]
)
def test_a_star_import_is_told_from_other_stars(code, has_star_import):
    assert plain_block(code).has_star_import == has_star_import


def test_every_statement_keeps_its_place_beside_its_original():
    block = plain_block("%time x = 1\ndel rows, table['a']\nexec('a = 1; b = 2')")
    assert block.source == "x = 1\ndel rows, table['a']\nexec('a = 1; b = 2')"
    assert ast.unparse(block.original) == block.source
    assert len(block.tree.body) == len(block.original.body) == 3


def test_a_shell_line_is_told_with_the_texts_that_are_known():
    assert (
        expand_known("cat {name} { name } {other} $name {name + x}", {"name": "a"})
        == "cat a a {other} $name {name + x}"
    )
