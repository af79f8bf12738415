"""Questions of `sql/questions.md`, read from it and written back with answers."""

import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, NamedTuple

import polars as pl

from carryover.tasks.analysis.rendering import markdown_row

KEPT_RESULTS = "laptop_full"
"""Name of the kept results that answer the questions about episodes."""
ABOUT_EPISODES = range(1, 6)
ABOUT_TRACES = range(6, 9)
ABOUT_PAPERS = range(9, 11)
"""Numbers of the questions by what answers them: kept results, the traces of scripted teachers, published numbers."""

_QUESTION = re.compile(
    r"\*\*(?P<number>\d+)\. (?P<words>[^\n]*?)\*\*\n\n```sql\n(?P<sql>.*?)\n```\n\n(?P<answer>(?:\|[^\n]*\n?)*)",
    re.DOTALL,
)


class Question(NamedTuple):
    """A question that a warehouse answers."""

    number: int
    words: str
    sql: str
    answer: str
    """The Markdown table that is printed under it."""

    def about(self, plan_digest: str, bucket: str) -> str:
        """Return the query with the plan's digest and a bucket filled in."""
        of_plan = self.sql.replace("$plan_digest", f"'{plan_digest}'")
        return of_plan.replace("$bucket", f"'{bucket}'")


def questions_text() -> str:
    """Return the installed `sql/questions.md`."""
    return (files("carryover.sql") / "questions.md").read_text(encoding="utf-8")


def read_questions(text: str) -> list[Question]:
    """Return the questions of a page in their order."""
    return [
        Question(int(found["number"]), found["words"], found["sql"], found["answer"])
        for found in _QUESTION.finditer(text)
    ]


def replace_answers(text: str, answers: Mapping[int, pl.DataFrame]) -> str:
    """Return a page with other answers; other questions keep theirs."""

    def with_answer(found: re.Match[str]) -> str:
        answer = answers.get(int(found["number"]))
        if answer is None:
            return found[0]
        return found[0].removesuffix(found["answer"]) + answer_table(answer)

    return _QUESTION.sub(with_answer, text)


def answer_table(frame: pl.DataFrame) -> str:
    """Return rows as a Markdown table with all their digits."""
    rule = "|" + "|".join("---:" if dtype.is_numeric() else "---" for dtype in frame.dtypes) + "|"

    def cell(value: Any) -> str:
        if not isinstance(value, float):
            if value is None:
                return ""
            return str(value)
        if value.is_integer():
            return str(int(value))
        return f"{value:.6g}"

    rows = (markdown_row([*map(cell, row)]) for row in frame.rows())
    return "\n".join([markdown_row(frame.columns), rule, *rows]) + "\n"
