"""A block as it ran: names, other state, and language."""

import re
from collections.abc import Collection
from typing import NamedTuple

from carryover.tasks.lint.effects import outliving, python_effects, script_effects
from carryover.tasks.lint.literals import Constants
from carryover.tasks.lint.shell import Effect, shell_effects
from carryover.tasks.lint.statements import LintBlock, before_line, line_reading, read_block
from carryover.tasks.readers.outputs import error_line, error_type, failed_source, missing_name
from carryover.tasks.readers.trace import Block, Language

SHELL_NAME = "$"
"""Begins the name of a shell variable, which is no name of Python."""
_SHELL_CELL = re.compile(r"\A\s*%%(?:bash|sh|script bash|script sh)\b[^\n]*\n")

_FILE_CELL = re.compile(r"\A\s*%%(?:writefile|file)\s+(?:-a\s+)?(?P<path>\S+)")


_SYNTAX_ERRORS = ("SyntaxError", "IndentationError", "TabError")
"""Errors of a block of which nothing ran."""


class Executed(NamedTuple):
    """A block that ran."""

    names: LintBlock
    written_names: frozenset[str]
    """Names that its source binds or deletes, whether it got so far or not."""
    effects: tuple[Effect, ...]
    language: Language
    missing_name: str | None
    """Name whose absence ended it."""
    caught_name: str | None
    """Name whose absence it caught and printed."""
    has_outcome: bool
    """Whether it is known if it raised."""
    has_error: bool
    runs_fresh_python: bool
    """Whether its Python ran in processes of its own, as `python -c` in a shell does."""

    def with_names(self, names: LintBlock, effects: tuple[Effect, ...]) -> "Executed":
        """Return the block with the names it left and other state."""
        return self._replace(names=names, effects=effects)


def execute_on_paper(
    block: Block, tools: Collection[str], constants: Constants, shadows: frozenset[str] = frozenset()
) -> Executed:
    """Return what a block did; `constants` hold texts of names.

    They are kept up to date. `shadows` are names of builtins that the trace binds itself.
    """
    cell = _SHELL_CELL.match(block.code)
    if block.language == "shell" or cell is not None:
        return _executed_shell(block, block.code[cell.end() :] if cell else block.code, tools, constants)
    written = _FILE_CELL.match(block.code)
    if written is not None:
        constants[written["path"]] = block.code.partition("\n")[2]
        names = LintBlock(is_judged=True)
        return _executed(block, names).with_names(names, (Effect("files", "set", written["path"]),))
    names = read_block(block.code, tools, shadows)
    if names.tree is None and block.error is not None and error_type(block.error) in _SYNTAX_ERRORS:
        names = LintBlock(is_judged=True)
    return _executed(block, names).with_names(
        _until_error(block, names, tools, shadows), tuple(python_effects(block.code, names.tree, constants))
    )


def _executed(block: Block, names: LintBlock) -> Executed:
    return Executed(
        names=names,
        written_names=names.binds | names.deletes | names.imported_names,
        effects=(),
        language="python",
        missing_name=missing_name(block.error),
        caught_name=missing_name(block.caught),
        has_outcome=block.output is not None or block.error is not None,
        has_error=block.error is not None,
        runs_fresh_python=False,
    )


def _until_error(block: Block, names: LintBlock, tools: Collection[str], shadows: frozenset[str]) -> LintBlock:
    """Return a block's names, up to the statement that raised."""
    line = None if block.error is None else _line_that_raised(block)
    if line is None:
        line = line_reading(names, missing_name(block.error))
    if line is None:
        return names
    return before_line(block.code, names, line, tools, shadows)


def _line_that_raised(block: Block) -> int | None:
    """Return a line told by number, or found by its source."""
    line = error_line(block.output, block.error)
    source = failed_source(block.output, block.error)
    if line is not None or source is None:
        return line
    first = source.strip().partition("\n")[0]
    found = re.search(rf"(?:^|;)[ \t]*{re.escape(first)}(?!\w)", block.code, re.MULTILINE)
    if found is None:
        return None
    return block.code.count("\n", 0, found.start()) + 1


def _executed_shell(block: Block, code: str, tools: Collection[str], constants: Constants) -> Executed:
    shell = shell_effects(code, constants)
    programs = [read_block(program, tools) for program in shell.programs]
    effects = list(shell.effects)
    for source, program in zip(shell.programs, programs, strict=True):
        effects += outliving(python_effects(source, program.tree, {}))
    effects += outliving(script_effects(shell.scripts))
    names = LintBlock(
        is_judged=all(program.is_judged for program in programs),
        binds=frozenset(SHELL_NAME + name for name in shell.binds).union(*(each.binds for each in programs)),
        reads=frozenset(SHELL_NAME + name for name in shell.reads).union(*(each.reads for each in programs)),
        imported_names=frozenset[str]().union(*(each.imported_names for each in programs)),
    )
    executed = _executed(block, names).with_names(names, tuple(effects))
    return executed._replace(language="shell", runs_fresh_python=bool(programs))
