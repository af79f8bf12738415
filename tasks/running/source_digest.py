"""Digests of source code, so that an edit behind a stage counts as another stage."""

import ast
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from pydantic_core import to_jsonable_python

from carryover.tasks.running.syntax import parse_python

ROOT = Path(__file__).parents[2]
"""Folder that holds the project's packages."""
SHIPPED_SUFFIXES = (".py", ".md", ".toml", ".sql", ".jinja")
"""Names of the files that packages are made of end so; what editors and tools leave beside them is no source."""


def source_digest(packages: Sequence[str]) -> str:
    """Return a digest over project packages and the project packages that they import.

    Python files count by their syntax tree, so comments and layout do not; docstrings do not either. Every other file
    (prompts, templates, SQL) counts by its bytes. What is hidden, a file or the folder it is in, and what no package is
    made of do not count.

    Args:
        packages: Dotted names, e.g. `carryover.tasks.knapsack`.
    """
    digest = hashlib.sha256()
    for package in _closure(packages):
        for file in _source_files(package):
            digest.update(str(file.relative_to(ROOT)).encode())
            digest.update(_read(file).meaning)
    return digest.hexdigest()


def stage_key(stage: str, version: int, packages: Sequence[str]) -> Callable[[Any, dict[str, Any]], str]:
    """Make a Prefect cache key function: stage, version, canonical inputs, and the source behind the stage.

    An input with a `cache_identity` counts by that alone. The source is read when the key is asked for, so a worker
    that lives long sees an edit.
    """

    def compute(_context: Any, parameters: dict[str, Any]) -> str:
        digest = hashlib.sha256()
        inputs = {name: getattr(value, "cache_identity", value) for name, value in parameters.items()}
        for part in (stage, str(version), canonical_json(inputs), source_digest(packages)):
            digest.update(part.encode())
            digest.update(b"\0")
        return f"{stage}-{digest.hexdigest()}"

    return compute


def canonical_json(value: Any) -> str:
    """Return JSON that is equal for equal values: keys sorted, models by their fields, no spaces."""
    return json.dumps(to_jsonable_python(value), sort_keys=True, separators=(",", ":"))


def _closure(packages: Sequence[str]) -> list[str]:
    found: set[str] = set()
    waiting = list(packages)
    while waiting:
        package = waiting.pop()
        if package in found:
            continue
        found.add(package)
        for file in _source_files(package):
            waiting.extend(_own_packages(_read(file).imported))
    return sorted(found)


def _source_files(package: str) -> list[Path]:
    files = (ROOT / package.removeprefix("carryover.").replace(".", "/")).rglob("*")
    return sorted(file for file in files if file.suffix in SHIPPED_SUFFIXES and not _is_hidden(file))


def _is_hidden(file: Path) -> bool:
    return any(part.startswith(".") for part in file.relative_to(ROOT).parts)


class _Source(NamedTuple):
    """What counts of a file."""

    meaning: bytes
    """Digest of the syntax tree, or of the bytes of what is no Python."""
    imported: frozenset[str]
    """Dotted names of the modules that it imports, at any depth of nesting."""


def _read(file: Path) -> _Source:
    """Read a file, again only where it has changed since: the flows of a study ask many times."""
    status = file.stat()
    return _parsed(file, status.st_mtime_ns, status.st_size)


@cache
def _parsed(file: Path, _modified_at: int, _byte_count: int) -> _Source:
    if file.suffix != ".py":
        return _Source(hashlib.sha256(file.read_bytes()).digest(), frozenset())
    tree = parse_python(file.read_bytes())
    imported = frozenset(_imported_modules(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [
                statement
                for statement in node.body
                if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
            ]
    return _Source(hashlib.sha256(ast.dump(tree).encode()).digest(), imported)


def _imported_modules(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def _own_packages(modules: frozenset[str]) -> Iterator[str]:
    """Yield the packages under `carryover.tasks` and `carryover.storage` that modules belong to."""
    for name in modules:
        match name.split("."):
            case ["carryover", "storage", *_]:
                yield "carryover.storage"
            case ["carryover", "tasks", package, *_] if (ROOT / "tasks" / package).is_dir():
                yield f"carryover.tasks.{package}"
