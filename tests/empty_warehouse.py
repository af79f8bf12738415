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
from carryover.storage.warehouse import connection, merger
from carryover.storage.warehouse.connection import open_for_writing, open_memory
from carryover.storage.warehouse.marts import refresh_marts
from carryover.storage.warehouse.migrations import migrate


@contextmanager
def copied_warehouses() -> Iterator[None]:
    """Let merges begin new warehouses as copies while the block runs.

    What a first merge makes itself is tested in `tests/storage`.
    """
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(merger, "_create_if_absent", copy_empty_warehouse)
        yield


def open_empty_memory() -> DuckDBPyConnection:
    """Return an empty warehouse in memory."""
    memory = open_memory()
    memory.execute(f"attach {quoted(str(_empty_warehouse()))} as template (read_only)")
    memory.execute("copy from database template to memory")
    memory.execute("detach template")
    return memory


def copy_empty_warehouse(path: Path) -> None:
    """Write a warehouse that has merged nothing, where there is none."""
    if not path.exists():
        shutil.copyfile(_empty_warehouse(), path)


def _empty_warehouse() -> Path:
    return Path(_folder().name) / "empty.duckdb"


@cache
def _folder() -> TemporaryDirectory[str]:
    folder = TemporaryDirectory(prefix="carryover-tests-")
    with pytest.MonkeyPatch.context() as patched:
        # The smallest blocks that DuckDB has: its copies, which hold next to nothing, are 1 MB and not 6.
        patched.setitem(connection._SETTINGS, "default_block_size", 16_384)
        with closing(open_for_writing(Path(folder.name) / "empty.duckdb")) as empty:
            migrate(empty)
            refresh_marts(empty)
            empty.execute("checkpoint")
    return folder
