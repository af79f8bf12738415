"""Connections to databases: their settings, transactions, and which statements they take."""

from pathlib import Path

import duckdb
import pytest

from carryover.storage.errors import QueryError, WarehouseError
from carryover.storage.warehouse.connection import (
    open_for_reading,
    open_for_writing,
    open_memory,
    query_error,
    require_query,
    shut_files_out,
    transaction,
)

SETTINGS = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
    "TimeZone": "UTC",
}
WAY_OUT = (
    "for files, settings and statements of your own, attach the copy that readers open in DuckDB: "
    "attach 'warehouse.readers.duckdb' as warehouse (read_only)"
)


def told(connection, names):
    return {name: connection.sql(f"select current_setting('{name}')").fetchall()[0][0] for name in names}


def test_connections_download_nothing_and_tell_times_in_utc(tmp_path):
    with open_memory() as connection:
        assert told(connection, SETTINGS) == SETTINGS
        spill = Path(told(connection, ["temp_directory"])["temp_directory"])
        assert spill.is_absolute()
        assert spill.name.startswith("carryover-")
    path = tmp_path / "study.duckdb"
    with open_for_writing(path) as connection:
        own = {"temp_directory": f"{path}.tmp", "memory_limit": "2.3 GiB", "preserve_insertion_order": False}
        assert told(connection, SETTINGS | own) == SETTINGS | own
    with open_for_reading(path) as connection:
        closed = {"enable_external_access": False, "lock_configuration": True}
        assert told(connection, SETTINGS | closed) == SETTINGS | closed
        assert connection.sql("select current_database()").fetchall() == [("warehouse",)]
        with pytest.raises(duckdb.InvalidInputException, match="read-only"):
            connection.execute("create table mine as select 1 as a")


def test_files_below_one_folder_may_stay_open(tmp_path):
    (tmp_path / "in").mkdir()
    for place in ("in/rows.csv", "rows.csv"):
        (tmp_path / place).write_text("a\n1\n")
    connection = open_memory()
    shut_files_out(connection, str(tmp_path / "in"))
    assert connection.sql(f"from read_csv('{tmp_path}/in/rows.csv')").fetchall() == [(1,)]
    with pytest.raises(duckdb.PermissionException):
        connection.sql(f"from read_csv('{tmp_path}/rows.csv')")


def test_a_file_that_cannot_be_opened_is_one_line(tmp_path):
    (tmp_path / "notes").write_bytes(b"text\n" * 1000)
    for open_file in (open_for_reading, open_for_writing):
        with pytest.raises(WarehouseError) as refused:
            open_file(tmp_path / "notes")
        said = str(refused.value)
        assert said.startswith(f"cannot open {tmp_path}/notes as a warehouse: ")
        assert said.endswith("; open a file that `carryover merge` wrote, or a landing zone by its folder")
        assert "\n" not in said


def test_a_transaction_is_kept_whole_or_not_at_all():
    connection = open_memory()
    connection.execute("create table mine (a int)")
    with transaction(connection):
        connection.execute("insert into mine values (1)")

    def fail():
        with transaction(connection):
            connection.execute("insert into mine values (2)")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert connection.sql("from mine").fetchall() == [(1,)]
    with transaction(connection):  # none is left open
        connection.execute("insert into mine values (3)")
    assert connection.sql("from mine").fetchall() == [(1,), (3,)]


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("", "no statements in ''; give one query"),
        ("select 1; select 2", "2 statements in 'select 1; select 2'; give one query"),
        (
            "delete from mine",
            "unsupported statement: DELETE; the warehouse is read-only; write select, from, with, describe, summarize, "
            f"pivot, values or explain; {WAY_OUT}",
        ),
    ],
)
def test_only_one_query_is_taken(sql, said):
    with pytest.raises(QueryError) as refused:
        require_query(open_memory(), sql)
    assert str(refused.value) == said


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (duckdb.PermissionException("no files"), f"no files; a query reads its warehouse alone; {WAY_OUT}"),
        (duckdb.BinderException("no column"), "no column"),
    ],
)
def test_an_error_of_a_query_keeps_its_words(error, said):
    assert str(query_error(error)) == said
