import json
import re
from contextlib import contextmanager
from datetime import UTC, datetime

import polars as pl
import pytest

from carryover.tasks.checks.suites import LISTED_IDS, Check, Suite, _exception, _expectation, run_suites
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.progress import no_bar
from carryover.tasks.traces.result_rows import CheckResultRow

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HALF = Check(name="half", kind="between", column="value", minimum=1, minimum_share=0.5)
ALL = Check(name="all", kind="between", column="value", minimum=1)


def suite_of(frame, *checks):
    return Suite("numbers", frame, checks, "id")


def evaluate(suite, folder, open_bar=no_bar):
    rows = run_suites([suite], folder, run_id="run", checked_at=NOW, open_bar=open_bar)
    return {row.check_name: row for row in rows}


def read_docs(folder):
    """Return the words of the suite's page."""
    page = next((folder / "validations").rglob("*.html")).read_text()
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def test_a_share_decides_and_the_offending_ids_are_named(tmp_path):
    frame = pl.DataFrame({"id": ["a", "b"], "value": [0, 1]})
    known = Check(name="known", kind="in_set", column="id", allowed=("a", "b"))
    empty = Check(name="rows", kind="row_count", minimum=3)
    advances = []

    @contextmanager
    def open_bar(*asked):
        advances.append(asked)
        yield lambda *advance: advances.append(advance)

    rows = evaluate(suite_of(frame, HALF, ALL, known, empty), tmp_path / "docs", open_bar)
    assert advances == [("Great Expectations", 4, "checks"), (4, "numbers")]
    assert rows["half"] == CheckResultRow(
        run_id="run",
        check_run_id="run-numbers",
        suite="numbers",
        check_name="half",
        is_passed=True,
        row_count=2,
        unexpected_count=1,
        threshold_json='{"kind":"between","column":"value","minimum":1.0,"minimum_share":0.5}',
        unexpected_json='["a"]',
        checked_at=NOW,
    )
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


@pytest.mark.parametrize(
    ("check", "kind", "bounds", "told"),
    [
        (
            Check(name="c", kind="between", column="value", minimum=1, maximum=3, minimum_share=0.5),
            "expect_column_values_to_be_between",
            {"column": "value", "mostly": 0.5, "min_value": 1.0, "max_value": 3.0},
            "c: at least 1.0 and at most 3.0, at least 50% of the time; first offending ids: a, b",
        ),
        (
            Check(name="c", kind="row_count", minimum=9),
            "expect_table_row_count_to_be_between",
            {"min_value": 9},
            "c: at least 9.0, at least 100% of the time; first offending ids: a, b",
        ),
        (
            Check(name="c", kind="in_set", column="word", allowed=("x", "y"), minimum_share=0.25),
            "expect_column_values_to_be_in_set",
            {"column": "word", "mostly": 0.25, "value_set": ["x", "y"]},
            "c: one of x, y, at least 25% of the time; first offending ids: a, b",
        ),
    ],
)
def test_a_check_is_stated_with_its_bounds_and_first_offenders(check, kind, bounds, told):
    stated = {"type": kind, "kwargs": bounds, "meta": {"check": "c"}, "notes": "c", "severity": "critical"}
    assert _expectation(check, ()).configuration.to_json_dict() == stated
    assert _expectation(check, ("a", "b")).configuration.to_json_dict() == {**stated, "description": told}


@pytest.mark.parametrize(
    ("info", "message"),
    [
        (None, None),
        ({}, None),
        ({"raised_exception": False, "exception_message": "x"}, None),
        ({"raised_exception": True, "exception_message": "  no column\nTraceback"}, "no column"),
        ({"a": {"raised_exception": False}, "b": {"raised_exception": True, "exception_message": "late"}}, "late"),
    ],
)
def test_a_raised_exception_is_told_in_one_line(info, message):
    assert _exception(info) == message


def test_pages_are_those_of_one_evaluation(tmp_path, monkeypatch):
    """The other one begins and ends before the index, the last page of this one."""
    from great_expectations.data_context.store.tuple_store_backend import TupleFilesystemStoreBackend

    frame = pl.DataFrame({"id": ["a"], "value": [1]})
    write = TupleFilesystemStoreBackend._set

    def let_another_in(store, key, *page, **settings):
        is_index = key == ()
        if is_index:
            monkeypatch.setattr(TupleFilesystemStoreBackend, "_set", write)
            evaluate(Suite("others", frame, (ALL,), "id"), tmp_path / "docs")
        return write(store, key, *page, **settings)

    monkeypatch.setattr(TupleFilesystemStoreBackend, "_set", let_another_in)
    evaluate(suite_of(frame, ALL), tmp_path / "docs")
    pages = [page.relative_to(tmp_path / "docs") for page in (tmp_path / "docs").rglob("*.html")]
    assert {page.parts[1] for page in pages if page.parts[0] == "validations"} == {"numbers"}
    assert list(tmp_path.iterdir()) == [tmp_path / "docs"]


def test_pages_that_cannot_be_written_are_one_line(tmp_path, monkeypatch, caplog):
    from great_expectations.data_context.store.tuple_store_backend import TupleFilesystemStoreBackend

    def fill_disk(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(TupleFilesystemStoreBackend, "_set", fill_disk)
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "index.html").write_text("of before")
    rows = evaluate(suite_of(pl.DataFrame({"id": ["a"], "value": [1]}), ALL), docs)
    assert rows["all"].is_passed
    (told,) = caplog.messages
    assert told.startswith(f"the pages of the data checks were not written to {docs}: ")
    assert [(file.name, file.read_text()) for file in tmp_path.rglob("*.html")] == [("index.html", "of before")]
    assert list(tmp_path.iterdir()) == [docs]
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
