import pytest

from tasks.analysis.questions import read_questions, readme_text
from tasks.running.errors import UserError
from tests.flows.cli.calling import import_records, run


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A data folder with two imported episodes of one cell."""
    home = tmp_path_factory.mktemp("questions") / "data"
    messages = [{"role": "user", "content": "Go."}, {"role": "assistant", "content": "```python\nfinish()\n```"}]
    records = [{"instance_id": str(task), "score": task / 2, "messages": messages} for task in (1, 2)]
    import_records(home, records, "--contract", "persistent", "--train-contract", "persistent", "--plan", "cells")
    return home


def test_a_question_is_answered_by_the_warehouse(home):
    said = run("questions", 1, "--home", home)
    assert said.startswith("1. What does each cell gain, and what does it cost?")
    assert "| P->P | 2 | 0.75 | 0 | 0 | 1 |" in said
    assert "\n2. " not in said


def test_all_questions_are_answered(home):
    said = run("questions", "--home", home)
    assert all(f"{question.number}. {question.words}" in said for question in read_questions(readme_text()))


def test_answers_are_written_with_whose_they_are(home, tmp_path):
    copy = tmp_path / "README.md"
    copy.write_text(readme_text())
    run("questions", "--write", copy, "--home", home)
    text = copy.read_text()
    assert "Answers 1 to 8 are those of plan `cells` (imported rows), 2 episodes a cell.\n" in text
    before, after = read_questions(readme_text()), read_questions(text)
    assert "| P->P | 2 | 0.75 | 0 | 0 | 1 |" in after[0].answer
    assert after[8:] == before[8:]


def test_what_is_no_question_or_no_readme_is_said(home, tmp_path):
    with pytest.raises(UserError, match="no question 11; choose from 1 to 10"):
        run("questions", 11, "--home", home)
    (tmp_path / "notes.md").write_text("Notes.")
    with pytest.raises(UserError, match=r"notes.md: no paragraph that begins"):
        run("questions", "--write", tmp_path / "notes.md", "--home", home)
