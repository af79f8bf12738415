"""Digests of source: an edit behind a stage is another stage."""

import ast
import hashlib
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from pydantic_core import to_jsonable_python

from carryover.tasks.services.syntax import parse_python

ROOT = Path(__file__).parents[2]
"""Folder that holds the project's packages."""
SHIPPED_SUFFIXES = (".py", ".md", ".toml", ".sql", ".csv", ".jinja")
"""Suffixes of source files; backups and caches of editors do not count."""
BOUNDARIES = (
    "carryover.tasks.plans.", "carryover.tasks.stages.", "carryover.tasks.services.progress.",
    "carryover.tasks.families.",
)  # fmt: skip
"""Modules that imports are not followed into: plans and families count by value, and glue to Prefect decides no
result."""
HARNESS = ("carryover.tasks.agent", "carryover.tasks.knapsack", "carryover.tasks.runtime")
"""Packages that play an episode of the study."""

_MODULE_NAME = re.compile(r"carryover\.tasks(\.\w+)+")
_QUOTED_OR_GAP = re.compile(r"""(?P<quoted>'(?:[^']|'')*'|"[^"]*")|(?:\s|--[^\n]*|/\*.*?\*/)+""", re.DOTALL)
"""SQL's strings and quoted names, and what separates its words."""
_WHOLE = "*"
_EFFECTS = "!"
"""In place of a name: all of a module, and those of its statements that define nothing."""


def source_digest(entries: Sequence[str], *, by_value: Sequence[str] = ()) -> str:
    """Return a digest over modules and packages, and over what they import.

    Python counts by its syntax tree: comments, docstrings and formatting change nothing. Of an imported module count
    the names that are imported, what these use, and statements that define nothing; all of it where the module itself
    is imported, or named in a string as for `python -m`. SQL counts without its comments. Prompts and templates count
    by their bytes, with the entry that holds them or a definition beside them that reads files (`__file__`). Those
    below `by_value` are inputs of their own and do not count. Imports are followed under `carryover.tasks` alone, but
    not into `carryover.tasks.plans`, `carryover.tasks.stages`, `carryover.tasks.families`, settings (`*_spec.py`),
    progress bars and the tasks of other stages (`tasks/*.py`).
    """
    apart = [ROOT / folder for folder in by_value]
    source = _Source()
    waiting: list[tuple[Path, str]] = []
    for entry in entries:
        path = _path(entry)
        files = _shipped(path) if path.is_dir() else [path.with_suffix(".py")]
        waiting += _whole_files(files, apart)
    found: defaultdict[Path, set[str]] = defaultdict(set)
    while waiting:
        file, name = waiting.pop()
        if name not in source.parts(file):  # bound by a statement that does more than define it
            name = _WHOLE
        if name not in found[file]:
            found[file].add(name)
            waiting += _counting_with(source, file, name, apart)
    digest = hashlib.sha256()
    for file in sorted(found, key=attrgetter("parts")):
        place = file.relative_to(ROOT)
        parts = source.parts(file)
        for name in sorted(found[file]):
            digest.update(f"{place} {name}".encode())
            digest.update(parts[name].meaning)
    return digest.hexdigest()


def folder_digest(folder: str) -> str:
    """Return a digest of a source folder's shipped files."""
    digest = hashlib.sha256()
    for file in sorted(_shipped(ROOT / folder)):
        digest.update(file.name.encode())
        digest.update(_read(file)[_WHOLE].meaning)
    return digest.hexdigest()


def canonical_json(value: Any) -> str:
    """Return JSON that is equal for equal values.

    Keys are sorted, models stand by their fields, and no spaces.
    """
    return json.dumps(to_jsonable_python(value), sort_keys=True, separators=(",", ":"))


class _Source:
    """Source during one walk, which looks at each file on the disk once."""

    def __init__(self) -> None:
        self.parts = cache(_read)
        self.imported = cache(_imported)


def _counting_with(source: _Source, file: Path, name: str, apart: Sequence[Path]) -> list[tuple[Path, str]]:
    """Return the dependencies of a part of a file."""
    parts = source.parts(file)
    part = parts[name]
    others = [(file, used) for used in part.used if used in parts]
    others += filter(None, map(source.imported, part.imported))
    if part.reads_files:
        beside = [other for other in _shipped(file.parent) if other.suffix != ".py"]
        others += _whole_files(beside, apart)
    return others


def _whole_files(files: Iterable[Path], apart: Sequence[Path]) -> list[tuple[Path, str]]:
    return [(file, _WHOLE) for file in files if not any(map(file.is_relative_to, apart))]


def _shipped(folder: Path) -> list[Path]:
    files = (file for file in folder.rglob("*") if file.suffix in SHIPPED_SUFFIXES and file.name != "README.md")
    return [file for file in files if not any(part.startswith(".") for part in file.relative_to(ROOT).parts)]


def _path(name: str) -> Path:
    return _place(ROOT, name)


def _place(root: Path, name: str) -> Path:
    return root / name.removeprefix("carryover.").replace(".", "/")


@cache
def _module_file(root: Path, name: str) -> Path:
    """Return a module's file, always the same object: a walk compares files a hundred thousand times."""
    return _place(root, name).with_suffix(".py")


def _imported(dotted: str) -> tuple[Path, str] | None:
    """Return the module, or the name in one, that counts with its importer."""
    module, _, name = dotted.rpartition(".")
    if f"{dotted}.".startswith(BOUNDARIES):
        return None
    for file, wanted in ((_module_file(ROOT, dotted), _WHOLE), (_module_file(ROOT, module), name)):
        is_followed = not file.stem.endswith("spec")
        if is_followed and file.parent.parent != ROOT and file.is_file():
            return file, wanted
    return None


class _Part(NamedTuple):
    """Digested content of a file or of a definition in it."""

    meaning: bytes
    """Digest of the syntax tree, or of the bytes of what is no Python."""
    used: frozenset[str] = frozenset()
    """Names that it uses and that the module may define."""
    imported: frozenset[str] = frozenset()
    """Dotted names under `carryover.tasks` that it imports or names, at any depth of nesting."""
    reads_files: bool = False
    """Whether it names the module's own place, to read files beside it."""


def _read(file: Path) -> dict[str, _Part]:
    """Return a file's parts by name.

    It is read again only where it has changed since: flows ask many times.
    """
    status = file.stat()
    return _parsed(file, status.st_mtime_ns, status.st_size)


@cache
def _parsed(file: Path, _modified_at: int, _byte_count: int) -> dict[str, _Part]:
    content = file.read_bytes()
    if file.suffix == ".sql":
        content = _without_comments(content.decode()).encode()
    if file.suffix != ".py":
        return {_WHOLE: _Part(hashlib.sha256(content).digest())}
    tree = parse_python(content)
    for node in ast.walk(tree):
        _drop_docstring(node)
        _drop_differences(node)
    statements: dict[str, list[ast.stmt]] = {_EFFECTS: []}
    for statement in tree.body:
        for name, part in _defined(statement):
            statements.setdefault(name, []).append(part)
    look_at = cache(_look_at)  # each statement counts twice: for its name and for the whole
    parts = {name: _part(map(look_at, found), name) for name, found in statements.items()}
    # The whole of a file holds each name's definition already.
    return parts | {_WHOLE: _part(map(look_at, tree.body), _WHOLE)._replace(used=frozenset())}


def _without_comments(sql: str) -> str:
    """Return SQL without comments and with one space for each gap.

    Strings and quoted names stay as they are.
    """
    return _QUOTED_OR_GAP.sub(lambda found: found["quoted"] or " ", sql).strip()


def _drop_docstring(node: ast.AST) -> None:
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        node.body = [statement for statement in node.body if not _is_constant(statement)]


def _drop_differences(node: ast.AST) -> None:
    """Drop what only some versions of Python put into a tree: its dump is as by 3.11."""
    if getattr(node, "type_params", None) == []:  # since 3.12
        delattr(node, "type_params")
    if isinstance(node, ast.JoinedStr):  # 3.12 ends some format specifications with an empty text
        node.values = [value for value in node.values if not _is_empty_text(value)]


def _is_empty_text(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value == ""


def _dump(statement: ast.stmt) -> str:
    if sys.version_info >= (3, 13):
        return ast.dump(statement, show_empty=True)  # earlier versions always show empty lists
    return ast.dump(statement)


def _is_constant(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _defined(statement: ast.stmt) -> Iterator[tuple[str, ast.stmt]]:
    """Yield a top-level statement's names with what defines them.

    Of an import of several names that is the import of one; a statement that has effects counts as `_EFFECTS`.
    """
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name, statement
        case ast.Import(names=aliases):
            yield from ((_bound(alias), ast.Import([alias])) for alias in aliases)
        case ast.ImportFrom(module=module, names=aliases, level=level):
            yield from ((_bound(alias), ast.ImportFrom(module, [alias], level)) for alias in aliases)
        case ast.Assign(targets=[ast.Name(id=name)]):
            yield name, statement
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name, statement
        case ast.If(test=ast.Compare(left=ast.Name(id="__name__"))):  # runs in no importer
            pass
        case _:
            yield _EFFECTS, statement


def _bound(alias: ast.alias) -> str:
    return alias.asname or alias.name.partition(".")[0]


class _Statement(NamedTuple):
    """Content of a statement."""

    tree: str
    """The dumped syntax tree."""
    used: set[str]
    strings: set[str]
    """Among them may be a module, as in `[python, "-m", "carryover.tasks..."]`."""
    imported: set[str]


def _look_at(statement: ast.stmt) -> _Statement:
    """Return a statement's tree, and the names and strings in it."""
    seen = _Statement(_dump(statement), used=set(), strings=set(), imported=set())
    for node in ast.walk(statement):
        match node:
            case ast.Name(id=identifier):
                seen.used.add(identifier)
            case ast.Constant(value=str(text)):
                seen.strings.add(text)
            case ast.ImportFrom(module=str(module), names=aliases, level=0):
                seen.imported.update(f"{module}.{alias.name}" for alias in aliases)
            case ast.Import(names=aliases):
                seen.imported.update(alias.name for alias in aliases)
    return seen


def _part(statements: Iterable[_Statement], name: str) -> _Part:
    """Return what counts of statements."""
    meaning = hashlib.sha256()
    imported: set[str] = set()
    strings: set[str] = set()
    used: set[str] = set()
    for statement in statements:
        meaning.update(statement.tree.encode())
        imported |= statement.imported
        strings |= statement.strings
        used |= statement.used
    return _Part(
        meaning=meaning.digest(),
        used=frozenset({*used, *strings, _EFFECTS} - {name}),
        imported=frozenset(filter(_MODULE_NAME.fullmatch, imported | strings)),
        reads_files="__file__" in used,
    )
