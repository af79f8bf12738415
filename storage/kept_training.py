"""What kept results hold of the training sets: which teachers' traces they take, with counts and no text; for Table 5.

Beside the episodes lie `training_examples.parquet` and `training_overlaps.parquet`. A folder without them has an empty
Table 5.
"""

from pathlib import Path

import polars as pl
from duckdb import DuckDBPyConnection

from storage.connection import quoted
from storage.warehouse import Warehouse
from tasks.traces.study_rows import TrainingExampleRow, TrainingOverlapRow

_EXAMPLES = """
select * exclude (content_digest)
from main.training_examples
where episode_id in (select unnest($episode_ids))"""
_SAME_EXAMPLE = ("episode_id", "variant", "text_format", "retention", "matching", "labels", "fault_weight")


def keep_training(warehouse: Warehouse, folder: Path, kept_ids: pl.DataFrame) -> None:
    """Add the training examples on a warehouse's traces to a folder of results.

    `kept_ids` tells under which `kept_id` the folder holds a trace `episode_id`: of parts that ran apart and played the
    same ones, it holds the first part's traces, and the examples of the part that is kept last.
    """
    landed = warehouse.sql(_EXAMPLES, episode_ids=kept_ids["episode_id"].to_list()).polars()
    named = landed.join(kept_ids, on="episode_id").with_columns(episode_id="kept_id").drop("kept_id")
    examples = _with_former(folder, TrainingExampleRow.TABLE, named, _SAME_EXAMPLE)
    _write(examples.sort("dataset_id", "contract", "position"), _path(folder, TrainingExampleRow.TABLE))

    key = TrainingOverlapRow.KEY
    overlaps = warehouse.sql("select * from main.training_overlaps").polars()
    overlaps = _with_former(folder, TrainingOverlapRow.TABLE, overlaps, key).join(examples, on="dataset_id", how="semi")
    _write(overlaps.sort(key), _path(folder, TrainingOverlapRow.TABLE))


def insert_training(connection: DuckDBPyConnection, folder: Path) -> None:
    """Insert what a folder of results holds of the training sets, nothing where it holds nothing."""
    for table in (TrainingExampleRow.TABLE, TrainingOverlapRow.TABLE):
        if (path := _path(folder, table)).exists():
            connection.execute(f"insert into main.{table} by name select * from read_parquet({quoted(str(path))})")


def _with_former(folder: Path, table: str, new: pl.DataFrame, key: tuple[str, ...]) -> pl.DataFrame:
    """Return the rows of a folder and new ones, which stand where both have a key."""
    path = _path(folder, table)
    frames = [pl.read_parquet(path), new] if path.exists() else [new]
    return pl.concat(frames, how="diagonal").unique(key, keep="last")


def _write(frame: pl.DataFrame, path: Path) -> None:
    frame.write_parquet(path, compression="zstd", compression_level=19)


def _path(folder: Path, table: str) -> Path:
    return folder / f"{table}.parquet"
