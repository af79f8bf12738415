import csv
import json
import re

import pyarrow.parquet
import pytest

from carryover.tasks.lint.lint import TraceLint, lint_trace
from carryover.tasks.lint.pool import lint_many
from carryover.tasks.lint.report import PAGE_ROWS, PageRows, html_page, open_rows
from carryover.tasks.lint.summary import LintSummary
from carryover.tasks.readers.trace import Block, Reply, Trace
from carryover.tasks.services.errors import UserError


def trace_of(name, *codes):
    return Trace(trace_id=name, replies=(Reply("", tuple(map(Block, codes))),))


CARRYING = lint_trace(trace_of("carries <x>", "x = 1", "y = 2", "print(x, y)"))
ALONE = lint_trace(trace_of("alone", "x = 1", "print(2)"))


def written(path):
    with open_rows(path) as write:
        write(CARRYING)
        write(ALONE)
    return path


def test_rows_are_written_by_suffix(tmp_path):
    (first, _) = csv.DictReader(written(tmp_path / "a.csv").read_text().splitlines())
    assert (first["trace_id"], first["carried_names"]) == ("carries <x>", "x, y")
    first, _ = map(json.loads, written(tmp_path / "a.jsonl").read_text().splitlines())
    assert first["carried_names"] == ["x", "y"]
    table = pyarrow.parquet.read_table(written(tmp_path / "a.parquet"))
    assert table.column_names == list(TraceLint._fields)
    assert table.to_pylist()[0]["carried_names"] == ["x", "y"]
    assert table.to_pylist()[1]["first_block"] is None


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "json", "parquet"])
def test_rows_that_are_stopped_replace_none(tmp_path, suffix):
    path = written(tmp_path / f"a.{suffix}")
    held = path.read_bytes()

    def stop():
        with open_rows(path) as write:
            write(ALONE)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stop()
    assert path.read_bytes() == held
    assert list(tmp_path.iterdir()) == [path]


def test_an_unknown_suffix_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"unknown suffix of .*a.txt; choose from .csv"), open_rows(tmp_path / "a.txt"):
        raise AssertionError("no rows are taken")


@pytest.mark.parametrize("codes", [(), ("exec(text)",), ("x = 1", "print(2)")])
def test_episodes_that_need_earlier_state_are_listed_first(codes):
    rows = PageRows()
    other = lint_trace(trace_of("other", *codes))
    rows.add(other)
    rows.add(CARRYING)
    assert rows.rows() == [CARRYING, other]


def test_a_page_lists_so_many_episodes_the_failing_ones_first():
    rows = PageRows()
    for lint in (ALONE, *[CARRYING] * (PAGE_ROWS - 1), ALONE):
        rows.add(lint)
    assert rows.rows() == [*[CARRYING] * (PAGE_ROWS - 1), ALONE]
    for lint in (CARRYING, CARRYING):
        rows.add(lint)
    assert rows.rows() == [CARRYING] * PAGE_ROWS


def test_a_page_says_what_fails_where_and_what_restating_costs():
    summary = LintSummary()
    rows = PageRows()
    for lint in (ALONE, CARRYING):
        summary.add(lint)
        rows.add(lint)
    assert [lint.trace_id for lint in rows.rows()] == ["carries <x>", "alone"]
    page = html_page("Lint", summary, rows.rows(), ["1 unread: unknown layout"])
    assert "1 of 2 episodes fail in a stateless runtime; first at block 3, name `x`." in page
    assert "50.0% of the episodes would fail in a stateless runtime" in page
    assert "carries &lt;x&gt;" in page
    assert "1 unread: unknown layout" in page
    assert "http" not in page  # self-contained


def test_a_pool_keeps_the_order():
    traces = [trace_of(str(number), "x = 1", "print(look)", "look = x") for number in range(150)]
    found = list(lint_many(iter(traces), tools=("look",), processes=2, alone=3))
    assert [lint.trace_id for lint in found] == [trace.trace_id for trace in traces]
    assert found == [lint_trace(trace, tools=("look",)) for trace in traces]


def test_a_page_counts_the_first_twenty_blocks():
    summary = LintSummary()
    for block in range(1, 25):
        summary.first_takes[block, f"name_{block}"] += 1
    page = html_page("Lint", summary, [], [])
    assert page.count("name_") == 20
    bars = page.partition("First block that fails")[2]
    told = [int(number) for number in re.findall(r">(\d+)<", bars)]
    assert 20 in told
    assert not {21, 24} & {*told}


def test_few_traces_are_linted_in_this_process_with_its_tools():
    traces = [trace_of("a", "print(look)", "look = 1")]
    (with_tools,) = lint_many(iter(traces), tools=("look",))
    (without,) = lint_many(iter(traces), tools=())
    assert (with_tools.early_names, without.early_names) == ((), ("look",))
