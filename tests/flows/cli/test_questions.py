import polars as pl
import pytest

from carryover.tasks.analysis.questions import KEPT_RESULTS, questions_text, read_questions, replace_answers
from carryover.tasks.services.errors import UserError
from tests.flows.cli.calling import import_records, run


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A data folder with two imported episodes of one cell."""
    home = tmp_path_factory.mktemp("questions") / "data"
    messages = [{"role": "user", "content": "Go."}, {"role": "assistant", "content": "```python\nfinish()\n```"}]
    records = [{"instance_id": str(task), "score": task / 2, "messages": messages} for task in (1, 2)]
    cell = ("--contract", "persistent", "--train-contract", "persistent", "--bucket", "small_large")
    import_records(home, records, *cell, "--plan", "cells")
    return home


@pytest.fixture
def unanswered(tmp_path):
    """A copy of the page in which every answer is another."""
    copy = tmp_path / "questions.md"
    other = pl.DataFrame({"answer": ["unknown"]})
    copy.write_text(replace_answers(questions_text(), dict.fromkeys(range(1, 11), other)))
    return copy


def answers(text):
    return {question.number: question.answer for question in read_questions(text)}


def test_a_question_is_answered_by_the_warehouse(home):
    said = run("questions", 1, "--home", home)
    assert said.startswith("1. What does each cell gain, and what does it cost?")
    assert "| hub | P->P | 2 | 0.75 |  |  | 1 |" in said
    assert "and bucket = 'small_large'" in said
    assert "\n2. " not in said


def test_all_questions_are_answered(home):
    said = run("questions", "--home", home)
    assert all(f"{question.number}. {question.words}" in said for question in read_questions(questions_text()))


def test_kept_results_write_the_answers_about_episodes(unanswered):
    before = answers(unanswered.read_text())
    said = run("questions", "--results", KEPT_RESULTS, "--write", unanswered)
    assert said == f"answers 1, 2, 3, 4, 5 written into {unanswered}\n"
    assert answers(unanswered.read_text()) == before | {
        number: answer for number, answer in answers(questions_text()).items() if number <= 5
    }


def test_a_warehouse_writes_the_answers_about_traces(home, unanswered):
    before = answers(unanswered.read_text())
    assert "answers 6, 7, 8 written" in run("questions", "--write", unanswered, "--home", home)
    after = answers(unanswered.read_text())
    assert after[7] == "| condition | imports | repeated_share |\n|---|---:|---:|\n"  # no teacher's trace is there
    assert {number for number in after if after[number] != before[number]} == {6, 7, 8}


def test_unknown_question_and_other_page_are_refused(home, tmp_path):
    with pytest.raises(UserError, match="no question 11; choose from 1 to 10"):
        run("questions", 11, "--home", home)
    (tmp_path / "notes.md").write_text("Notes.")
    with pytest.raises(UserError, match=r"notes.md asks none of these questions; give a copy of sql/questions.md"):
        run("questions", "--write", tmp_path / "notes.md", "--home", home)
