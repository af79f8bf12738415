"""A walk over a block's syntax tree, in order of evaluation."""

import ast
import builtins
import symtable
from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Literal, NamedTuple, TypeGuard

from carryover.tasks.services.syntax import FILENAME, parse_python
from carryover.tasks.traces.vocabulary import EventKind

BUILTIN_NAMES = frozenset(vars(builtins))

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
ComprehensionNode = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp


class NameEvent(NamedTuple):
    """Something that a block does with a name, in order of evaluation.

    The fields are columns of `NameEventRow`.
    """

    sequence: int
    kind: EventKind
    name: str
    line: int
    is_definition: bool
    is_deferred: bool


class ParsedBlock(NamedTuple):
    """Facts from the source of one block."""

    is_parsed: bool
    """Whether the block is valid Python; if not, all that needs a syntax tree is empty."""
    import_count: int = 0
    """Import and ImportFrom statements, at any depth."""
    call_site_count: int = 0
    """Places where a tool's name is followed by "(", counted in the text as the study's authors count tool calls, so
    also in comments, strings and blocks that are not Python; the events hold the calls proper."""
    events: tuple[NameEvent, ...] = ()
    imported_names: tuple[str, ...] = ()
    """Names that imports bind at module scope, sorted; they are no user names."""


def walk_block(code: str, tools: Collection[str]) -> ParsedBlock:
    """Return what a block does with names.

    Its call sites are not counted.

    Raise `SyntaxError` or `ValueError` for invalid Python, `RecursionError` or `MemoryError` for deep nesting.
    """
    walker = _Walker(code, frozenset(tools))
    walker.visit(parse_python(code))
    return ParsedBlock(
        is_parsed=True,
        import_count=walker.import_count,
        events=walker.user_events(),
        imported_names=tuple(sorted(walker.imported_names)),
    )


class _Note(NamedTuple):
    """A name event before it is numbered: the fields of `NameEvent` but `sequence`."""

    kind: EventKind
    name: str
    line: int
    is_definition: bool
    is_deferred: bool


class _Walker(ast.NodeVisitor):
    """Visitor in order of evaluation that notes module-scope names."""

    def __init__(self, code: str, tools: frozenset[str]) -> None:
        self.import_count = 0
        self.imported_names: set[str] = set()
        self._code = code
        self._tools = tools
        self._notes: list[_Note] = []
        self._globals: frozenset[str] | None = None  # names that mean the module's in this scope; None at module scope
        self._outside: frozenset[str] | None = None  # the same for comprehensions, which do not see a class's names
        self._hidden: frozenset[str] = frozenset()  # variables of comprehensions that have no scope of their own
        self._evaluates_annotations = True
        self._is_deferred = False
        self._handler_names: list[str] = []

    def user_events(self) -> tuple[NameEvent, ...]:
        """Return the events, numbered, without reads of what the block only imports."""
        bound = {note.name for note in self._notes if note.kind == "bind"}
        only_imported = self.imported_names - bound
        kept = [note for note in self._notes if note.kind != "read" or note.name not in only_imported]
        return tuple(NameEvent(sequence, *note) for sequence, note in enumerate(kept))

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self._note_name("read", node.id, node.lineno)
        elif isinstance(node.ctx, ast.Store):
            self._note_name("bind", node.id, node.lineno)

    def visit_Call(self, node: ast.Call) -> None:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in self._tools:
            self._note("call_site", node.func.id, node.lineno)

    def visit_MatchAs(self, node: ast.MatchAs | ast.MatchStar | ast.MatchMapping) -> None:
        self.generic_visit(node)
        name = node.rest if isinstance(node, ast.MatchMapping) else node.name
        if name is not None:
            self._note_name("bind", name, node.lineno)

    visit_MatchStar = visit_MatchMapping = visit_MatchAs  # noqa: N815 - the visitor's own naming

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        self._visit_all(node.targets)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self._note_name("read", node.target.id, node.lineno)
        self.visit(node.value)
        self.visit(node.target)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)
        if node.value is not None or not isinstance(node.target, ast.Name):
            self.visit(node.target)
        if self._evaluates_annotations and not self._is_deferred:
            self.visit(node.annotation)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        self.visit(node.target)

    def visit_For(self, node: ast.For | ast.AsyncFor) -> None:
        self.visit(node.iter)
        self.visit(node.target)
        self._visit_all([*node.body, *node.orelse])

    visit_AsyncFor = visit_For  # noqa: N815 - the visitor's own naming

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.type is not None:
            self.visit(node.type)
        self._handler_names.append(node.name or "")  # Python deletes the name when the clause ends
        self._visit_all(node.body)
        self._handler_names.pop()

    def visit_Import(self, node: ast.Import) -> None:
        self._note_import(node, [(alias.name, alias.asname or alias.name.partition(".")[0]) for alias in node.names])

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        if module == "__future__":
            self.visit_Global(node)
            self._evaluates_annotations &= all(alias.name != "annotations" for alias in node.names)
        self._note_import(node, [(module, alias.asname or alias.name) for alias in node.names])

    def visit_Global(self, node: ast.Global | ast.Nonlocal | ast.ImportFrom) -> None:
        _ = self._scopes  # raises where the declaration is out of place: a syntax tree has it, a symbol table has not

    visit_Nonlocal = visit_Global  # noqa: N815 - the visitor's own naming

    def visit_FunctionDef(self, node: FunctionNode) -> None:
        self._visit_all(node.decorator_list)
        self._visit_signature(node.args)
        if self._evaluates_annotations and node.returns is not None:
            self.visit(node.returns)
        self._note_name("bind", node.name, node.lineno, is_definition=True)
        with self._scope("function", node.name, node.lineno):
            self._visit_all(node.body)

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815 - the visitor's own naming

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._visit_signature(node.args)
        with self._scope("function", "lambda", node.lineno):
            self.visit(node.body)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._visit_all([*node.decorator_list, *node.bases, *node.keywords])
        with self._scope("class", node.name, node.lineno):
            self._visit_all(node.body)
        self._note_name("bind", node.name, node.lineno, is_definition=True)

    def visit_ListComp(self, node: ComprehensionNode) -> None:
        first, *rest = node.generators
        self.visit(first.iter)  # the outermost iterable is evaluated outside
        scope_name = "genexpr" if isinstance(node, ast.GeneratorExp) else type(node).__name__.lower()
        with self._scope("comprehension", scope_name, node.lineno, _variables(node)):
            self._visit_all([first.target, *first.ifs])
            for generator in rest:
                self._visit_all([generator.iter, generator.target, *generator.ifs])
            self._visit_all([node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt])

    visit_SetComp = visit_GeneratorExp = visit_DictComp = visit_ListComp  # noqa: N815 - the visitor's own naming

    def _visit_signature(self, arguments: ast.arguments) -> None:
        self._visit_all([default for default in (*arguments.defaults, *arguments.kw_defaults) if default is not None])
        parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        if self._evaluates_annotations:
            self._visit_all(item.annotation for item in parameters if item is not None and item.annotation is not None)

    def _visit_all(self, nodes: Iterable[ast.AST]) -> None:
        for node in nodes:
            self.visit(node)

    @contextmanager
    def _scope(
        self,
        kind: Literal["function", "class", "comprehension"],
        name: str,
        line: int,
        variables: frozenset[str] = frozenset(),
    ) -> Iterator[None]:
        outer = (self._globals, self._outside, self._hidden, self._is_deferred)
        tables = self._scopes[name, line]
        if tables:
            symbols = tables.popleft().get_symbols()
            self._globals = frozenset(symbol.get_name() for symbol in symbols if symbol.is_global())
            self._outside = self._outside if kind == "class" else self._globals
            self._hidden = frozenset()
        else:  # from Python 3.12 on, most comprehensions belong to the scope around them
            self._globals = _joined(self._globals, self._outside)
            self._hidden |= variables
        self._is_deferred = self._is_deferred or kind == "function"
        yield
        self._globals, self._outside, self._hidden, self._is_deferred = outer

    def _note_import(self, node: ast.Import | ast.ImportFrom, imported: list[tuple[str, str]]) -> None:
        self.import_count += 1
        for module, bound_name in imported:
            self._note("import", module.partition(".")[0] or ".", node.lineno)
            if (self._globals is None or bound_name in self._globals) and bound_name != "*":
                self.imported_names.add(bound_name)

    def _note_name(self, kind: EventKind, name: str, line: int, *, is_definition: bool = False) -> None:
        is_module_name = (self._globals is None or name in self._globals) and name not in self._hidden
        is_dunder = name.startswith("__") and name.endswith("__")
        is_taken = is_dunder or name in BUILTIN_NAMES or name in self._tools or name in self._handler_names
        if is_module_name and not is_taken:
            self._note(kind, name, line, is_definition=is_definition)

    def _note(self, kind: EventKind, name: str, line: int, *, is_definition: bool = False) -> None:
        self._notes.append(_Note(kind, name, line, is_definition, self._is_deferred))

    @cached_property
    def _scopes(self) -> dict[tuple[str, int], deque[symtable.SymbolTable]]:
        """The scopes below the module by name and line.

        Several on one line stand in order of evaluation.

        Most blocks have none, and a symbol table costs as much as the syntax tree.
        """
        scopes: dict[tuple[str, int], deque[symtable.SymbolTable]] = defaultdict(deque)
        pending = list(reversed(symtable.symtable(self._code, FILENAME, "exec").get_children()))
        while pending:
            scope = pending.pop()
            if scope.get_type() in ("function", "class"):  # not the annotation scopes of newer Pythons
                scopes[scope.get_name().strip("<>"), scope.get_lineno()].append(scope)
            pending.extend(reversed(scope.get_children()))
        return scopes


def _joined(left: frozenset[str] | None, right: frozenset[str] | None) -> frozenset[str] | None:
    """Return the names of both; None stands for all."""
    if left is None or right is None:
        return None
    return left | right


def _variables(node: ComprehensionNode) -> frozenset[str]:
    """Return the names that a comprehension's loops bind."""
    targets = [generator.target for generator in node.generators]
    return frozenset(part.id for target in targets for part in ast.walk(target) if _is_bound(part))


def _is_bound(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
