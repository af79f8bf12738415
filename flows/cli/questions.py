"""The ten questions of `sql/README.md` about one plan of a warehouse."""

from collections.abc import Container
from pathlib import Path

from carryover.flows.cli.screen import screen
from carryover.storage.warehouse.reader import Warehouse
from carryover.tasks.analysis.questions import answer_table, read_questions, readme_text, replace_answers
from carryover.tasks.running.errors import UserError


def print_questions(warehouse: Warehouse, plan_digest: str, number: int | None) -> None:
    """Print one question or all of them, each with its query and its answer here.

    Raises:
        UserError: There is no such question.
    """
    console = screen()
    questions = read_questions(readme_text())
    chosen = [question for question in questions if number in (None, question.number)]
    if not chosen:
        raise UserError(f"no question {number}; choose from 1 to {len(questions)}")
    for question in chosen:
        console.print(f"{question.number}. {question.words}", style="bold", markup=False)
        answer = answer_table(warehouse.sql(question.about(plan_digest)).polars())
        console.print(f"\n{question.about(plan_digest)}\n\n{answer}", markup=False, soft_wrap=True)


def write_answers(warehouse: Warehouse, plan_digest: str, path: Path, numbers: Container[int]) -> list[int]:
    """Write this warehouse's answers to some questions into a copy of `sql/README.md`; return which were written.

    Raises:
        UserError: The file asks none of them.
    """
    text = path.read_text(encoding="utf-8")
    asked = [question for question in read_questions(text) if question.number in numbers]
    if not asked:
        raise UserError(f"{path} asks none of these questions; give a copy of sql/README.md")
    answers = {question.number: warehouse.sql(question.about(plan_digest)).polars() for question in asked}
    path.write_text(replace_answers(text, answers), encoding="utf-8")
    return list(answers)
