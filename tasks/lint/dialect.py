"""Notebook Python and late binding as plain statements, for one walk.

`%magic` and `!shell` lines become the names that they read, or `pass`; `globals()["x"]` becomes `x`; `exec("...")` its
statements; `del x` a read of `x` and a marker; what `except NameError` or `"x" in globals()` guards, a marker
instead of a read.
"""

import ast
import re
from collections.abc import Collection, Mapping
from itertools import chain
from typing import NamedTuple

from carryover.tasks.services.syntax import UNPARSABLE, parse_python

DELETED = "deleted_name_"
"""Begins the name that stands after a deleted one."""
GUARDED = "guarded_name_"
"""Begins the name that stands for one that need not exist."""
SHADOWING = "shadowing_name_"
"""Begins the name that stands for a builtin's, where code binds it."""
_ASSIGNED_LINE = re.compile(r"^(\s*[\w, ]+?=\s*)[!%].*$")
_TIMED_LINE = re.compile(r"^(\s*)%(?:time|timeit|prun|memit)\s+(?!-)(.+)$")
_MAGIC_LINE = re.compile(r"^(\s*)(?:[!%?].*|[\w.]+\?{1,2})$")
_HARMLESS_LINE = re.compile(
    r"^\s*(?:[\w, ]+?=\s*)?(?:%%?(?:autoreload|capture|conda|config|history|load_ext|ls|lsmagic|mamba|matplotlib"
    r"|memit|pip|precision|prun|pwd|python3?|reload_ext|time|timeit|who|whos)\b.*|%(?:cd|env|set_env)\b.*|!.*|\?.*|[\w.]+\?{1,2})$"
)
"""Magics that bind no name; lines of `%` and `!` read those in `{}` and after `$`."""
_EXPANDED = re.compile(r"\{(?P<expression>[^{}]+)\}|(?<!\$)\$(?P<name>[A-Za-z_]\w*)")
"""What IPython expands in a line, where it can be evaluated."""
_PYTHON_CELLS = re.compile(r"%%(?:time|timeit|capture|prun|python3?|memit)\b")
_NAMESPACES = ("globals", "locals", "vars", "dir")
_READING_METHODS = ("copy", "get", "items", "keys", "values")
_NAME_ERRORS = ("NameError", "UnboundLocalError")


_REWRITTEN = re.compile(
    r"\b(?:globals|locals|vars|dir|exec|eval|del|NameError|UnboundLocalError|import_module|get_ipython|__import__|modules)\b"
    r"|__main__|\b___?\b"
)
"""Words without which a block is plain Python already."""


class PlainBlock(NamedTuple):
    """A block in plain Python."""

    tree: ast.Module
    """One statement for each top-level statement of `original`."""
    original: ast.Module
    source: str
    """The text that `original` was parsed from."""
    is_opaque: bool
    """Whether it runs computed text or an unknown magic, so that its names are not all known."""
    has_star_import: bool
    is_rewritten: bool
    """Whether `tree` differs from `original`."""


def plain_block(code: str, shadows: Collection[str] = ()) -> PlainBlock:
    """Return a block in plain Python; names in `shadows` are the code's own, not the builtins'.

    Raise what `parse_python` does for neither Python nor IPython.
    """
    rewriter = _Rewriter(shadows)
    try:
        source = code
        original = parse_python(code)
    except SyntaxError:
        source = _without_magics(code)
        original = parse_python(source)
        special = (line for line in code.splitlines() if _MAGIC_LINE.match(line) or _ASSIGNED_LINE.match(line))
        rewriter.is_opaque = not all(map(_HARMLESS_LINE.match, special))
    is_rewritten = bool(shadows) or bool(_REWRITTEN.search(source))
    tree = original
    if is_rewritten:
        tree = ast.fix_missing_locations(rewriter.visit(parse_python(source)))
    has_star_import = "*" in source and any(
        isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for node in ast.walk(original)
    )
    return PlainBlock(tree, original, source, rewriter.is_opaque, has_star_import, is_rewritten)


def _without_magics(code: str) -> str:
    """Return code with `pass` for lines that only IPython understands.

    A cell magic whose body is no Python (`%%bash`) stays, and so does not parse.
    """
    lines = code.splitlines()
    first = next((number for number, line in enumerate(lines) if line.strip()), 0)
    if _PYTHON_CELLS.match(lines[first]):
        lines[first] = "pass"
    elif lines[first].startswith("%%"):
        return code
    lines = [_TIMED_LINE.sub(r"\1\2", line) for line in lines]
    return "\n".join(map(_plain_line, lines))


def _plain_line(line: str) -> str:
    """Return a line in plain Python: of a magic, the names that it reads."""
    assigned = _ASSIGNED_LINE.match(line)
    if assigned:
        return f"{assigned[1]}{_expanded_names(line) or 'None'}"
    magic = _MAGIC_LINE.match(line)
    if magic:
        return f"{magic[1]}{_expanded_names(line) or 'pass'}"
    return line


def _expanded_names(line: str) -> str:
    """Return a tuple of the expressions that IPython expands in a line; empty for none."""
    expanded = [found["expression"] or found["name"] for found in _EXPANDED.finditer(line)]
    expressions = [f"({each.strip()})" for each in expanded if _is_expression(each)]
    if not expressions:
        return ""
    return f"({', '.join(expressions)},)"


def _is_expression(text: str) -> bool:
    try:
        body = parse_python(text.strip()).body
    except UNPARSABLE:
        return False
    return len(body) == 1 and isinstance(body[0], ast.Expr)


def expand_known(line: str, constants: Mapping[str, str]) -> str:
    """Return a shell line with the texts that names in `{}` hold."""

    def known(found: re.Match[str]) -> str:
        return constants.get((found["expression"] or "").strip(), found[0])

    return _EXPANDED.sub(known, line)


class _Rewriter(ast.NodeTransformer):
    """Rewrites nodes whose effect on names is written in another way."""

    def __init__(self, shadows: Collection[str]) -> None:
        self.is_opaque = False
        self._shadows = shadows
        self._guarded: tuple[frozenset[str] | None, ...] = ()
        self._depth = 0
        """Functions and classes around a node, which delete names of their own."""

    def visit_Name(self, node: ast.Name) -> ast.Name:
        is_old_result = node.id in ("__", "___") and isinstance(node.ctx, ast.Load)  # in IPython, or anything
        self.is_opaque = self.is_opaque or is_old_result
        is_guarded = any(names is None or node.id in names for names in self._guarded)
        if is_guarded and isinstance(node.ctx, ast.Load):
            return ast.Name(GUARDED + node.id, node.ctx)
        return ast.Name(self._own(node.id), node.ctx)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.arg = self._own(node.arg)
        return self.generic_visit(node)  # type: ignore[return-value]

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> ast.stmt:
        node.name = self._own(node.name)
        self._depth += 1
        self.generic_visit(node)
        self._depth -= 1
        return node

    visit_AsyncFunctionDef = visit_ClassDef = visit_FunctionDef  # noqa: N815 - the visitor's own naming

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.ExceptHandler:
        node.name = node.name and self._own(node.name)
        return self.generic_visit(node)  # type: ignore[return-value]

    def visit_Global(self, node: ast.Global | ast.Nonlocal) -> ast.stmt:
        node.names = [self._own(name) for name in node.names]
        return node

    visit_Nonlocal = visit_Global  # noqa: N815

    def _own(self, name: str) -> str:
        if name in self._shadows:
            return SHADOWING + name
        return name

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> ast.stmt:
        modules = [node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
        self.is_opaque = self.is_opaque or "__main__" in modules
        for alias in node.names:
            bound = alias.asname or alias.name
            if bound in self._shadows:
                alias.asname = self._own(bound)
        return node

    visit_ImportFrom = visit_Import  # noqa: N815 - the visitor's own naming

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        is_of_modules = isinstance(node.value, ast.Attribute) and node.value.attr == "modules"
        self.is_opaque = self.is_opaque or (is_of_modules and _is_main(node.slice))
        if _is_namespace(node.value):
            if isinstance(node.slice, ast.Constant) and str(node.slice.value).isidentifier():
                return self.visit(ast.Name(str(node.slice.value), node.ctx))
            self.is_opaque = True
        return self.generic_visit(node)  # type: ignore[return-value]

    def visit_Delete(self, node: ast.Delete) -> ast.stmt:
        self.generic_visit(node)
        deleted = [target.id for target in node.targets if isinstance(target, ast.Name)]
        others: list[ast.expr] = [target for target in node.targets if not isinstance(target, ast.Name)]
        if not deleted or self._depth > 0:
            return node
        reads: list[ast.expr] = []
        for name in deleted:
            reads += [ast.Name(name, ast.Load()), ast.Name(DELETED + name, ast.Load())]
        read = ast.Expr(ast.Tuple(reads, ast.Load()))
        return _together([read, ast.Delete(others)] if others else [read])

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        source = _source_run_here(node.value, "exec")
        if source is not None:
            statements = self._statements(source)
            if statements is not None:
                return _together([self.visit(each) for each in statements] or [ast.Pass()])
        return self.generic_visit(node)  # type: ignore[return-value]

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.is_opaque = self.is_opaque or _reaches_main(node) or _may_change_names(node.func)
        source = _source_run_here(node, "exec", "eval")
        statements = None if source is None else self._statements(source)
        if statements:
            is_evaluated = _called(node) == "eval"
            if is_evaluated and isinstance(statements[0], ast.Expr):
                return self.visit(statements[0].value)
            self.is_opaque = self.is_opaque or not is_evaluated
        return self.generic_visit(node)  # type: ignore[return-value]

    def visit_Try(self, node: ast.Try) -> ast.stmt:
        types = [handler.type for handler in node.handlers if handler.type]
        caught = chain.from_iterable(map(ast.walk, types))
        if any(isinstance(each, ast.Name) and each.id in _NAME_ERRORS for each in caught):
            node.body = self._guard(None, node.body)
            for part in (node.handlers, node.orelse, node.finalbody):
                part[:] = [self.visit(each) for each in part]
            return node
        return self.generic_visit(node)  # type: ignore[return-value]

    def visit_If(self, node: ast.If) -> ast.stmt:
        test = node.test
        if isinstance(test, ast.Compare) and isinstance(test.left, ast.Constant) and _is_namespace(test.comparators[0]):
            names = frozenset({str(test.left.value)})
            if isinstance(test.ops[0], ast.In):
                node.body = self._guard(names, node.body)
                node.orelse = [self.visit(each) for each in node.orelse]
                return node
        return self.generic_visit(node)  # type: ignore[return-value]

    def _guard(self, names: frozenset[str] | None, body: list[ast.stmt]) -> list[ast.stmt]:
        """Visit statements whose names need not exist; `None` for all."""
        self._guarded = (*self._guarded, names)
        visited = [self.visit(each) for each in body]
        self._guarded = self._guarded[:-1]
        return visited

    def _statements(self, argument: ast.expr) -> list[ast.stmt] | None:
        """Return the statements of literal text; `None` for unknown names."""
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            try:
                return parse_python(argument.value.strip()).body
            except SyntaxError:
                return None
        self.is_opaque = True
        return None


def _reaches_main(node: ast.Call) -> bool:
    """Tell whether a call gives the block's namespace as an object.

    IPython's shell does, and the module `__main__`.
    """
    called = node.func.attr if isinstance(node.func, ast.Attribute) else _called(node)
    if called == "get_ipython":
        return True
    arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
    return called in ("import_module", "__import__") and any(map(_is_main, arguments))


def _called(node: ast.AST) -> str | None:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id
    return None


def _may_change_names(method: ast.expr) -> bool:
    """Tell whether it is a method of the block's names that does more than read them."""
    if isinstance(method, ast.Attribute) and _is_namespace(method.value):
        return method.attr not in _READING_METHODS
    return False


def _source_run_here(node: ast.expr, *functions: str) -> ast.expr | None:
    """Return what a call of these functions runs among the block's own names."""
    if not isinstance(node, ast.Call) or _called(node) not in functions or not node.args:
        return None
    if not all(map(_is_namespace, node.args[1:])):
        return None
    return node.args[0]


def _is_main(node: ast.expr) -> bool:
    is_text = isinstance(node, ast.Constant) and node.value == "__main__"
    return is_text or (isinstance(node, ast.Name) and node.id == "__name__")


def _is_namespace(node: ast.expr) -> bool:
    return _called(node) in _NAMESPACES and not node.args  # type: ignore[attr-defined]


def _together(statements: list[ast.stmt]) -> ast.stmt:
    if len(statements) == 1:
        return statements[0]
    return ast.If(ast.Constant(value=True), statements, [])
