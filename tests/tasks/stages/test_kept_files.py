"""Files of kept results are read by their own path, whatever characters it holds."""

import polars as pl

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
