"""Files of kept results are read by their own path, whatever characters it holds, and written whole."""

from typing import Any

import polars as pl
import pytest

from carryover.storage.warehouse.connection import open_memory
from carryover.storage.warehouse.migrations import migrate
from carryover.storage.zone.schemas import to_arrow
from carryover.tasks.stages.kept_files import insert_kept, kept_path, read_kept, write_kept
from carryover.tasks.traces.training_rows import PolicyUpdateRow


def test_brackets_in_a_folder_are_no_wildcards(tmp_path, make_row):
    folder = tmp_path / "results[1]"
    folder.mkdir()
    update = make_row(PolicyUpdateRow, reinforcement_id="own", policy_update=1)
    path = kept_path(folder, "policy_updates")
    write_kept(pl.DataFrame(to_arrow([update])), path)
    (tmp_path / "results1").mkdir()
    kept_path(tmp_path / "results1", "policy_updates").write_bytes(b"of other results")
    assert read_kept(path)["reinforcement_id"].to_list() == ["own"]
    connection = open_memory()
    migrate(connection)
    insert_kept(connection, folder, "policy_updates")
    assert connection.sql("select reinforcement_id from policy_updates").fetchall() == [("own",)]


class Torn:
    """Rows whose writing is stopped."""

    def write_parquet(self, path, **_):
        path.write_bytes(b"a part")
        raise KeyboardInterrupt


def test_rows_that_are_not_written_whole_replace_none(tmp_path):
    path = tmp_path / "episodes.parquet"
    write_kept(pl.DataFrame({"score": [1.0]}), path)
    torn: Any = Torn()
    with pytest.raises(KeyboardInterrupt):
        write_kept(torn, path)
    assert pl.read_parquet(path)["score"].to_list() == [1.0]
    assert list(tmp_path.iterdir()) == [path]
