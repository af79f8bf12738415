"""Training sets of kept results, without text, for Table 5.

Beside the episodes lie `training_examples.parquet` and `training_overlaps.parquet`. A folder without them has an empty
Table 5.
"""

from pathlib import Path

import polars as pl
from duckdb import DuckDBPyConnection

from carryover.storage.warehouse.reader import Warehouse
from carryover.tasks.stages.kept_files import insert_kept, kept_path, read_kept, write_kept
from carryover.tasks.traces.training_rows import TrainingExampleRow, TrainingOverlapRow

_EXAMPLES = """
select * exclude (content_digest)
from main.training_examples
where episode_id in (select unnest($episode_ids))"""
_NAMES = ("run_id", "dataset_id")
"""Key that distinguishes training sets of equal content."""


def keep_training(
    warehouse: Warehouse, folder: Path, kept_ids: pl.DataFrame, episode_ids: pl.Series, *, target: Path
) -> None:
    """Write a folder's training examples and those on a warehouse's traces to `target`.

    `kept_ids` tells under which `kept_id` the folder holds a trace `episode_id`: of parts that ran apart and played the
    same ones, it holds the first part's traces. Of sets that hold the same it holds one, that of the run that began
    last, whichever part is kept last. `episode_ids` are those of all kept episodes; an example of any other goes.
    """
    landed = warehouse.sql(_EXAMPLES, episode_ids=kept_ids["episode_id"].to_list()).polars()
    named = landed.join(kept_ids, on="episode_id").with_columns(episode_id="kept_id").drop("kept_id")
    together = _with_former(folder, TrainingExampleRow.TABLE, named, TrainingExampleRow.KEY)
    examples = together.filter(pl.col("episode_id").is_in(episode_ids.implode()))
    # Without sets that the set of a run that began later equals in all but its names.
    content = pl.struct(pl.exclude(_NAMES)).sort_by("episode_id")
    sets = examples.sort("run_id", maintain_order=True).group_by("dataset_id", maintain_order=True).agg(content=content)
    examples = examples.join(sets.unique("content", keep="last"), on="dataset_id", how="semi")
    examples = examples.sort("dataset_id", "contract", "position")
    write_kept(examples, kept_path(target, TrainingExampleRow.TABLE))

    key = TrainingOverlapRow.KEY
    overlaps = warehouse.sql("select * from main.training_overlaps").polars()
    overlaps = _with_former(folder, TrainingOverlapRow.TABLE, overlaps, key).join(examples, on="dataset_id", how="semi")
    overlaps = overlaps.sort(key)
    write_kept(overlaps, kept_path(target, TrainingOverlapRow.TABLE))


def insert_training(connection: DuckDBPyConnection, folder: Path) -> None:
    """Insert the training sets of a folder of results, if any."""
    for table in (TrainingExampleRow.TABLE, TrainingOverlapRow.TABLE):
        insert_kept(connection, folder, table)


def _with_former(folder: Path, table: str, new: pl.DataFrame, key: tuple[str, ...]) -> pl.DataFrame:
    """Return the rows of a folder and new ones.

    A new row replaces one of the same key.
    """
    path = kept_path(folder, table)
    frames = [read_kept(path), new] if path.exists() else [new]
    return pl.concat(frames, how="diagonal").unique(key, keep="last")
