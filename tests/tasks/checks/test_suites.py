import json
import re
from datetime import UTC, datetime

import polars as pl
import pytest

from carryover.tasks.checks.suites import LISTED_IDS, Check, Suite, run_suites
from carryover.tasks.services.errors import UserError

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HALF = Check(name="half", kind="between", column="value", minimum=1, minimum_share=0.5)
ALL = Check(name="all", kind="between", column="value", minimum=1)


def suite_of(frame, *checks):
    return Suite("numbers", frame, checks, "id")


def evaluate(suite, folder):
    return {row.check_name: row for row in run_suites([suite], folder, run_id="run", checked_at=NOW)}


def read_docs(folder):
    """Return the words of the suite's page."""
    page = next((folder / "validations").rglob("*.html")).read_text()
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def test_a_share_decides_and_the_offending_ids_are_named(tmp_path):
    frame = pl.DataFrame({"id": ["a", "b"], "value": [0, 1]})
    known = Check(name="known", kind="in_set", column="id", allowed=("a", "b"))
    empty = Check(name="rows", kind="row_count", minimum=3)
    rows = evaluate(suite_of(frame, HALF, ALL, known, empty), tmp_path / "docs")
    assert {name: row.is_passed for name, row in rows.items()} == {
        "half": True,
        "all": False,
        "known": True,
        "rows": False,
    }
    assert [(row.row_count, row.unexpected_count, json.loads(row.unexpected_json)) for row in rows.values()] == [
        (2, 1, ["a"]),
        (2, 1, ["a"]),
        (2, 0, []),
        (2, 0, []),
    ]
    assert (tmp_path / "docs" / "index.html").exists()
    words = read_docs(tmp_path / "docs")
    assert "half: at least 1.0, at least 50% of the time; first offending ids: a" in words


def test_pages_that_cannot_be_written_are_one_line(tmp_path, monkeypatch, caplog):
    from great_expectations.data_context.store.tuple_store_backend import TupleFilesystemStoreBackend

    def fill_disk(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(TupleFilesystemStoreBackend, "_set", fill_disk)
    rows = evaluate(suite_of(pl.DataFrame({"id": ["a"], "value": [1]}), ALL), tmp_path)
    assert rows["all"].is_passed
    (told,) = caplog.messages
    assert told.startswith(f"the pages of the data checks in {tmp_path} are incomplete: ")
    assert "No space left" in told
    assert "\n" not in told


def test_data_docs_of_large_tables_name_the_first_ids(tmp_path):
    frame = pl.DataFrame({"id": [f"row-{n}" for n in range(10_001)]}).with_columns(
        value=(pl.col("id") != "row-7").cast(pl.Int64)
    )
    row = evaluate(suite_of(frame, HALF), tmp_path)["half"]
    assert (row.is_passed, row.unexpected_count, json.loads(row.unexpected_json)) == (True, 1, ["row-7"])
    words = read_docs(tmp_path)
    assert "% unexpected" in words
    assert "half: at least 1.0, at least 50% of the time; first offending ids: row-7" in words


def test_data_docs_name_no_more_ids_than_a_check_row(tmp_path):
    frame = pl.DataFrame({"id": [f"row-{n:05}" for n in range(100)]}).with_columns(value=pl.lit(0))
    row = evaluate(suite_of(frame, ALL), tmp_path)["all"]
    listed = json.loads(row.unexpected_json)
    assert (len(listed), listed[-1]) == (LISTED_IDS, f"row-{LISTED_IDS - 1:05}")
    words = read_docs(tmp_path)
    assert all(each in words for each in listed)
    assert f"row-{LISTED_IDS:05}" not in words


def test_a_check_that_great_expectations_refuses_is_named(tmp_path):
    crossed = Check(name="crossed", kind="between", column="value", minimum=5, maximum=1)
    frame = pl.DataFrame({"id": ["a"], "value": [1]})
    with pytest.raises(UserError, match=r"could not evaluate crossed of numbers: \S+"):
        evaluate(suite_of(frame, HALF, crossed), tmp_path)


def test_a_check_that_cannot_be_evaluated_raises(tmp_path):
    broken = Check(name="broken", kind="between", column="absent", minimum=1)
    frame = pl.DataFrame({"id": ["a"], "value": [1], "absent": ["text"]})
    with pytest.raises(pl.exceptions.ComputeError):
        evaluate(suite_of(frame, HALF, broken), tmp_path)
    with pytest.raises(pl.exceptions.ColumnNotFoundError):
        evaluate(suite_of(frame.drop("absent"), broken), tmp_path)
