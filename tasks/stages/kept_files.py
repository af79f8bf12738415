"""Files of a folder of kept results, one per table."""

from pathlib import Path

import polars as pl
from duckdb import DuckDBPyConnection

from carryover.storage.sql_text import quoted_path
from carryover.tasks.services.whole_files import written_whole


def kept_path(folder: Path, table: str) -> Path:
    """Return where a folder holds a table's rows."""
    return folder / f"{table}.parquet"


def write_kept(frame: pl.DataFrame, path: Path) -> None:
    """Write rows to be committed, whole: Parquet by the highest common level of zstd."""
    with written_whole(path) as unfinished:
        frame.write_parquet(unfinished, compression="zstd", compression_level=19)


def read_kept(path: Path) -> pl.DataFrame:
    """Return the rows of a kept file."""
    return pl.read_parquet(path, glob=False)


def insert_kept(connection: DuckDBPyConnection, folder: Path, table: str) -> None:
    """Insert a table's rows of a folder, if any."""
    path = kept_path(folder, table)
    if path.exists():
        connection.execute(f"insert into main.{table} by name select * from read_parquet({quoted_path(str(path))})")
