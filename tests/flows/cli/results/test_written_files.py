"""Files that a command writes: figures with captions, the report, answers in a copy of the questions."""

from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from carryover.flows.cli.results import documents, tables
from carryover.flows.cli.results.documents import write_figures, write_report
from carryover.flows.cli.results.tables import write_answers
from carryover.tasks.analysis.figures import Drawing
from carryover.tasks.analysis.queries import table_query
from carryover.tasks.analysis.questions import questions_text, read_questions
from carryover.tasks.services.errors import UserError

WAREHOUSE: Any = "a warehouse that is not read"


def test_figures_are_written_with_their_captions(tmp_path, monkeypatch):
    read = []
    cells = Drawing(name="cells", svg="<svg>1</svg>", caption="Four cells.", setting="Of scratch.")
    curve = Drawing(name="curve", svg="<svg>2</svg>", caption="A curve.", setting="")

    def draw_cells(reader):
        read.append(reader("table_1"))
        return [cells]

    monkeypatch.setattr(documents, "plan_tables", lambda warehouse, plan: [plan])
    monkeypatch.setattr(documents, "read_table", lambda *asked: asked)
    monkeypatch.setattr(documents, "draw_cells", draw_cells)
    monkeypatch.setattr(documents, "draw_figures", lambda reader, names: [curve] if names == ["2f3a"] else [])
    first = write_figures(WAREHOUSE, "2f3a", tmp_path / "figures")
    written = write_figures(WAREHOUSE, "2f3a", tmp_path / "figures")  # into the same folder again
    assert first == written == [tmp_path / "figures" / name for name in ("cells.svg", "curve.svg")]
    assert {path.name: path.read_text() for path in (tmp_path / "figures").iterdir()} == {
        "cells.svg": "<svg>1</svg>",
        "cells.txt": "Four cells. Of scratch.\n",
        "curve.svg": "<svg>2</svg>",
        "curve.txt": "A curve.\n",
    }
    assert read == [(WAREHOUSE, table_query("table_1"), "2f3a")] * 2


def test_a_report_is_written_into_a_folder_that_is_there(tmp_path, monkeypatch):
    written = []
    warehouse: Any = SimpleNamespace(sql=lambda query, **asked: SimpleNamespace(arrow=lambda: (query, asked)))

    def write(ask, plan, path):
        written.append((ask("select $a", a=1), plan, path))

    monkeypatch.setattr(documents, "write_report_file", write)
    page = tmp_path / "page.html"
    assert write_report(warehouse, "2f3a", page) == page
    assert written == [(("select $a", {"a": 1}), "2f3a", page)]
    with pytest.raises(FileNotFoundError) as refused:
        write_report(warehouse, "2f3a", tmp_path / "absent" / "page.html")
    assert refused.value.filename == str(tmp_path / "absent")
    assert len(written) == 1


def test_answers_are_written_into_a_copy_of_the_questions(tmp_path, monkeypatch):
    asked = []

    def sql(query):
        asked.append(query)
        return SimpleNamespace(polars=lambda: pl.DataFrame({"count": [len(asked)]}))

    monkeypatch.setattr(tables, "training_bucket", lambda warehouse, plan: f"bucket of {plan}")
    warehouse: Any = SimpleNamespace(sql=sql)
    copy = tmp_path / "copy.md"
    copy.write_text(questions_text())
    assert write_answers(warehouse, "2f3a", copy, (3, 1)) == [1, 3]
    questions = {question.number: question for question in read_questions(questions_text())}
    assert asked == [questions[number].about("2f3a", "bucket of 2f3a") for number in (1, 3)]
    added = set(copy.read_text().splitlines()) - set(questions_text().splitlines())
    assert {"| 1 |", "| 2 |"} <= added
    before = copy.read_text()
    with pytest.raises(UserError) as refused:
        write_answers(warehouse, "2f3a", copy, (99,))
    assert str(refused.value) == f"{copy} asks none of these questions; give a copy of sql/questions.md"
    assert copy.read_text() == before
