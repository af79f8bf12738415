"""The names of a trace, as a persistent interpreter keeps them."""

import re
from collections.abc import Collection

from carryover.tasks.lint.executed import SHELL_NAME
from carryover.tasks.lint.statements import LintBlock, Statement
from carryover.tasks.traces.walker import BUILTIN_NAMES

HISTORY = re.compile(r"_\d*|Out|In|_i+|_i\d+|_ih|_oh")
"""Names under which Python and IPython keep the values and the source of earlier blocks."""
_LEXEME = re.compile(r"\w+|[^\w\s]")


def count_lexemes(text: str) -> int:
    """Return the words and signs of a text, which approximate tokens."""
    return len(_LEXEME.findall(text))


class NameWalk:
    """The names of a trace, block after block."""

    def __init__(self, provided: frozenset[str]) -> None:
        self._provided = provided
        self._has_begun = False
        self._bound: set[str] = set()
        self._imported: set[tuple[str, str]] = set()
        self._imported_names: set[str] = set()
        self._starred: frozenset[str] = frozenset()
        self._shapes: set[str] = set()
        self.seen: set[str] = set()
        self.carried: list[str] = []
        self.early: list[str] = []
        self.reimport_count = 0
        self.redefinition_count = 0
        self.restated_token_count = 0
        self.has_restating_block = False

    def enter(self, block: LintBlock, starred: frozenset[str], *, is_forced: bool) -> frozenset[str]:
        """Count and return what a block takes, then add what it leaves.

        `starred` are the names that its `import *` binds. A block that repeats what an earlier one left is a habit,
        unless it is forced to: names were lost before.
        """
        reads = block.reads - starred
        inherited = self._bound | self._imported_names | self._starred
        if self._has_begun:
            inherited |= {name for name in reads if HISTORY.fullmatch(name)}
        carried = reads & inherited
        self.carried += carried
        unbound = ((reads - inherited - self._provided) | block.dead_reads) - BUILTIN_NAMES
        self.early += sorted(name for name in unbound if not name.startswith(SHELL_NAME))
        self.reimport_count += len(self._reimported(block))
        self.redefinition_count += len((block.binds & self._bound) - block.reads - {"_"})
        restated = [statement.source for statement in block.statements if self._restates(statement)]
        self.restated_token_count += sum(map(count_lexemes, restated))
        self.has_restating_block |= bool(restated) and not carried and not is_forced
        self._leave(block, starred)
        return carried

    def _leave(self, block: LintBlock, starred: frozenset[str]) -> None:
        self._bound = (self._bound - block.deletes) | block.binds
        self._imported |= block.imports
        self._imported_names = (self._imported_names - block.deletes) | block.imported_names
        self._starred |= starred
        self._has_begun = True
        self._shapes |= {statement.shape for statement in block.statements if statement.shape}

    def _reimported(self, block: LintBlock) -> set[str]:
        """Return modules that a block imports only in repetition."""
        fresh = {module for module, _ in block.imports - self._imported}
        return {module for module, _ in block.imports} - fresh

    def _restates(self, statement: Statement) -> bool:
        if statement.data and statement.data <= self.seen:
            return True
        if statement.reads & (self._bound | self._imported_names):
            return False
        if statement.shape in self._shapes:
            return bool(statement.binds or statement.imports)
        is_known = statement.binds <= self._bound and statement.imports <= self._imported
        return is_known and statement.is_declaration


def star_names(blocks: Collection[LintBlock], unbound: frozenset[str]) -> frozenset[str]:
    """Return names that only `import *` can have bound.

    No block binds or reads them before it.
    """
    before: set[str] = set()
    for block in blocks:
        if block.has_star_import:
            return unbound - before
        before |= block.reads
    return frozenset()
