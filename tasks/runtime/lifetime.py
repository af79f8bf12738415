"""Lifetimes of bindings as policies: the contracts' only difference.

It also finds the names that a block binds.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from carryover.tasks.runtime.contract import Contract
from carryover.tasks.services.syntax import UNPARSABLE, parse_python


class Bound(NamedTuple):
    """Binding that gave a name its present value."""

    step: int
    is_definition: bool
    """Whether by `def` or `class`."""


@dataclass(frozen=True)
class Lifetime:
    """Names that a contract keeps: all or none, by default."""

    runs_in: Literal["live", "fresh"]
    """Where a block runs: in the process that lives through the episode, or in a new one."""
    keeps: Literal["all", "some", "nothing"]
    """Share of a namespace that the next block finds; a block's code is looked into only to keep some of it."""

    keeps_files: bool = True
    """Whether the files of a scratch folder, where there is one, outlive a block."""

    step_count: int | None = None
    """In between: how many steps a binding outlives, that of its block included; None keeps definitions alone."""

    def survives(self, bound: Bound, step: int) -> bool:
        """Tell whether a bound name outlives a step.

        `bound` is exact where some names are kept.
        """
        if self.keeps != "some":
            return self.keeps == "all"
        if self.step_count is None:
            return bound.is_definition
        return step - bound.step < self.step_count


def lifetime_of(contract: Contract) -> Lifetime:
    """Return a contract's policy."""
    word, _, count = contract.lifetime.partition(":")
    keeps_files = contract.keeps_files
    if keeps_files is None:
        keeps_files = word != "block"
    match word:
        case "episode":
            return Lifetime("live", "all", keeps_files)
        case "block":
            return Lifetime("fresh" if contract.scope == "process" else "live", "nothing", keeps_files)
        case "recent":
            return Lifetime("live", "some", keeps_files, int(count))
        case _:  # functions: a contract has one of four
            return Lifetime("live", "some", keeps_files)


def names_bound_by(code: str, step: int) -> dict[str, Bound]:
    """Return every name that a block may bind, at any depth.

    A name that is defined and also assigned to counts as assigned to.
    """
    found: dict[str, Bound] = {}
    for node in nodes_of(code):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.setdefault(name, Bound(step, is_definition=True))
            case ast.Name(id=name, ctx=ast.Store()):
                found[name] = Bound(step, is_definition=False)
            case ast.alias(name=name, asname=alias):
                found[alias or name.partition(".")[0]] = Bound(step, is_definition=False)
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                found[name] = Bound(step, is_definition=False)
    return found


def nodes_of(code: str) -> Iterator[ast.AST]:
    """Return all nodes of a block's syntax tree, if it parses."""
    try:
        return ast.walk(parse_python(code))
    except UNPARSABLE:
        return iter(())
