"""Digests of source code, so that an edit behind a stage counts as another stage."""

import ast
import hashlib
import json
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from pydantic_core import to_jsonable_python

from carryover.tasks.running.syntax import parse_python

ROOT = Path(__file__).parents[2]
"""Folder that holds the project's packages."""
SHIPPED_SUFFIXES = (".py", ".md", ".toml", ".sql", ".jinja")
"""Suffixes of source files; backups and caches of editors do not count."""
BOUNDARY = "carryover.tasks.plans."
"""Package that imports are not followed into, like modules of specs: what they hold counts by value, as an input."""

_MODULE_NAME = re.compile(r"carryover\.tasks(\.\w+)+")


def source_digest(entries: Sequence[str]) -> str:
    """Return a digest over modules and packages, and over the modules under `carryover.tasks` that they import.

    Python counts by its syntax tree: comments, docstrings and formatting change nothing. Prompts, templates and SQL
    count by their bytes, with the entry that holds them or a module beside them that reads files (`__file__`). A module
    that is named in a string, as for `python -m`, counts as imported. Imports are not followed into
    `carryover.storage`,
    `carryover.tasks.plans`, modules of specs (`spec.py`) and the tasks of other stages (`tasks/*.py`).
    """
    digest = hashlib.sha256()
    for file in sorted(_closure(entries)):
        digest.update(str(file.relative_to(ROOT)).encode())
        digest.update(_read(file).meaning)
    return digest.hexdigest()


def canonical_json(value: Any) -> str:
    """Return JSON that is equal for equal values: keys sorted, models by their fields, no spaces."""
    return json.dumps(to_jsonable_python(value), sort_keys=True, separators=(",", ":"))


def _closure(entries: Sequence[str]) -> set[Path]:
    """Return the files of the entries, and of the modules that count with their importers."""
    found: set[Path] = set()
    paths = [_path(entry) for entry in entries]
    waiting = [file for path in paths for file in (_shipped(path) if path.is_dir() else [path.with_suffix(".py")])]
    while waiting:
        file = waiting.pop()
        if file in found:
            continue
        found.add(file)
        for name in _read(file).imported:
            # A name may be one of a module's own names.
            for module in (_path(name).with_suffix(".py"), _path(name.rpartition(".")[0]).with_suffix(".py")):
                if module.parent.parent != ROOT and not module.stem.endswith("spec") and module.is_file():
                    waiting.append(module)
        if _read(file).reads_files:
            waiting += [other for other in _shipped(file.parent) if other.suffix != ".py"]
    return found


def _shipped(folder: Path) -> list[Path]:
    files = (file for file in folder.rglob("*") if file.suffix in SHIPPED_SUFFIXES and file.name != "README.md")
    return [file for file in files if not any(part.startswith(".") for part in file.relative_to(ROOT).parts)]


def _path(name: str) -> Path:
    return ROOT / name.removeprefix("carryover.").replace(".", "/")


class _Source(NamedTuple):
    """What counts of a file."""

    meaning: bytes
    """Digest of the syntax tree, or of the bytes of what is no Python."""
    imported: frozenset[str]
    """Dotted names under `carryover.tasks` that it imports or names, at any depth of nesting."""
    reads_files: bool = False
    """Whether it names its own place, to read files beside it."""


def _read(file: Path) -> _Source:
    """Read a file, again only where it has changed since: the flows of a study ask many times."""
    status = file.stat()
    return _parsed(file, status.st_mtime_ns, status.st_size)


@cache
def _parsed(file: Path, _modified_at: int, _byte_count: int) -> _Source:
    if file.suffix != ".py":
        return _Source(hashlib.sha256(file.read_bytes()).digest(), frozenset())
    tree = parse_python(file.read_bytes())
    names: set[Any] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.Constant):
            names.add(node.value)
        elif isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            constants = [
                each for each in node.body if isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)
            ]
            node.body = [each for each in node.body if each not in constants]
    modules = (name for name in names if isinstance(name, str) and _MODULE_NAME.fullmatch(name))
    imported = frozenset(name for name in modules if not name.startswith(BOUNDARY))
    reads_files = any(isinstance(node, ast.Name) and node.id == "__file__" for node in ast.walk(tree))
    return _Source(hashlib.sha256(ast.dump(tree).encode()).digest(), imported, reads_files)
