"""An empty warehouse, made once per process; the warehouses of tests begin as its copies."""

import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from duckdb import DuckDBPyConnection

from carryover.storage.sql_text import quoted
from carryover.storage.warehouse import merger
from carryover.storage.warehouse.connection import open_for_writing, open_memory
from carryover.storage.warehouse.marts import refresh_marts
from carryover.storage.warehouse.migrations import migrate


@contextmanager
def copied_warehouses() -> Iterator[None]:
    """Let merges begin new warehouses as copies while the block runs.

    What a first merge makes itself is tested in `tests/storage`.
    """
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(merger, "_create_if_absent", _copy_if_absent)
        yield


def open_empty_memory() -> DuckDBPyConnection:
    """Return an empty warehouse in memory."""
    connection = open_memory()
    connection.execute(f"attach {quoted(str(_empty_warehouse()))} as template (read_only)")
    connection.execute("copy from database template to memory")
    connection.execute("detach template")
    return connection


def _copy_if_absent(path: Path) -> None:
    if not path.exists():
        shutil.copyfile(_empty_warehouse(), path)


def _empty_warehouse() -> Path:
    return Path(_folder().name) / "empty.duckdb"


@cache
def _folder() -> TemporaryDirectory[str]:
    folder = TemporaryDirectory(prefix="carryover-tests-")
    with closing(open_for_writing(Path(folder.name) / "empty.duckdb")) as connection:
        migrate(connection)
        refresh_marts(connection)
        connection.execute("checkpoint")
    return folder
