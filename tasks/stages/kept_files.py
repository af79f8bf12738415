"""Files of a folder of kept results, one per table."""

from pathlib import Path

import polars as pl
from duckdb import DuckDBPyConnection

from carryover.storage.sql_text import quoted


def kept_path(folder: Path, table: str) -> Path:
    """Return where a folder holds a table's rows."""
    return folder / f"{table}.parquet"


def write_kept(frame: pl.DataFrame, path: Path) -> None:
    """Write rows to be committed: Parquet by the highest common level of zstd."""
    frame.write_parquet(path, compression="zstd", compression_level=19)


def insert_kept(connection: DuckDBPyConnection, folder: Path, table: str) -> None:
    """Insert a table's rows of a folder, if any."""
    path = kept_path(folder, table)
    if path.exists():
        connection.execute(f"insert into main.{table} by name select * from read_parquet({quoted(str(path))})")
