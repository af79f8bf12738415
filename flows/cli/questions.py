"""The ten questions of `sql/README.md` about one plan of a warehouse."""

from collections.abc import Container
from pathlib import Path

import polars as pl

from flows.cli.screen import screen
from storage.warehouse import Warehouse
from tasks.analysis.questions import Question, answer_table, read_questions, readme_text, replace_answers
from tasks.running.errors import UserError


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
        answer = answer_table(answer_question(warehouse, plan_digest, question))
        console.print(f"\n{_about(plan_digest, question)}\n\n{answer}", markup=False, soft_wrap=True)


def write_answers(warehouse: Warehouse, plan_digest: str, path: Path, numbers: Container[int]) -> list[int]:
    """Write this warehouse's answers to some questions into a copy of `sql/README.md`; return which were written.

    Raises:
        UserError: The file asks none of them.
    """
    text = path.read_text(encoding="utf-8")
    asked = [question for question in read_questions(text) if question.number in numbers]
    if not asked:
        raise UserError(f"{path} asks none of these questions; give a copy of sql/README.md")
    answers = {question.number: answer_question(warehouse, plan_digest, question) for question in asked}
    path.write_text(replace_answers(text, answers), encoding="utf-8")
    return list(answers)


def answer_question(warehouse: Warehouse, plan_digest: str, question: Question) -> pl.DataFrame:
    """Return the rows that answer a question about a plan."""
    return warehouse.sql(_about(plan_digest, question)).polars()


def _about(plan_digest: str, question: Question) -> str:
    """Return a question's query with the plan filled in, so that it can be asked again as printed."""
    return question.sql.replace("$plan_digest", f"'{plan_digest}'")
