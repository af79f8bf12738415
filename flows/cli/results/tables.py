"""Tables, hypotheses and the ten questions, read from the warehouse and printed."""

from collections.abc import Container, Mapping, Sequence
from pathlib import Path

import polars as pl
import typer

from carryover.flows.cli.asking import ask_of
from carryover.flows.cli.screen import screen
from carryover.storage.warehouse.reader import Warehouse
from carryover.tasks.analysis.plan_tables import names_of_plan, rows_of_plan
from carryover.tasks.analysis.queries import TableQuery, command_sql, table_names, table_query
from carryover.tasks.analysis.questions import answer_table, questions_text, read_questions, replace_answers
from carryover.tasks.analysis.rendering import render_table, rich_table
from carryover.tasks.plans.hypotheses import Evidence, Group, Verdict, count_claims, judge, read_hypotheses
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.text import read_text_file
from carryover.tasks.services.whole_files import write_whole
from carryover.tasks.traces.result_rows import StatisticRow
from carryover.tasks.traces.vocabulary import TableFormat

VERDICTS_TITLE = (
    "hypotheses of tasks/plans/hypotheses.toml: criteria, the number that decides, its widest bootstrap interval, "
    "the verdict, and whether the scripted teachers fulfil it without a model"
)
_VERDICT_SCHEMA = {name: pl.Float64 if name in ("estimate", "low", "high") else pl.String for name in Verdict._fields}


def plan_tables(warehouse: Warehouse, plan_digest: str) -> list[str]:
    """Return a plan's tables; the paper's belong to the knapsack."""
    return names_of_plan(ask_of(warehouse), plan_digest)


def print_plan(warehouse: Warehouse, plan_digest: str, table_format: TableFormat) -> None:
    """Print a plan's tables, on a screen those with rows.

    The other ones are named there, and `claims` is left out.
    """
    names = plan_tables(warehouse, plan_digest)
    if table_format != "rich":
        print_tables(warehouse, plan_digest, names, table_format)
        return
    queries = [table_query(name) for name in names if name != "claims"]
    tables = {query: read_table(warehouse, query, plan_digest) for query in queries}
    _print_all({query: frame for query, frame in tables.items() if not frame.is_empty()}, table_format)
    empty = [query.name for query, frame in tables.items() if frame.is_empty()]
    if empty:
        typer.echo(f"\nno rows for this plan: {', '.join(empty)}")


def print_tables(warehouse: Warehouse, plan_digest: str, names: Sequence[str], table_format: TableFormat) -> None:
    """Print a plan's tables, or raise `UserError`.

    A table may be unknown, or the paper's where another family was played.
    """
    queries = [table_query(name) for name in names]
    known = {*plan_tables(warehouse, plan_digest), *table_names(is_cave=True)}
    for query in queries:
        if query.name not in known:
            raise UserError(
                f"{query.name} is about the Opaque Knapsack, which plan {plan_digest} does not play; imported traces "
                "play it where `carryover import` was given --family knapsack"
            )
    _print_all({query: read_table(warehouse, query, plan_digest) for query in queries}, table_format)


def _print_all(tables: Mapping[TableQuery, pl.DataFrame], table_format: TableFormat) -> None:
    for position, (query, frame) in enumerate(tables.items()):
        if position > 0 and table_format != "csv":
            typer.echo()
        title = f"{query.name}: {query.title}" if table_format == "rich" else query.title
        print_frame(query.name, frame, table_format, title)


def print_frame(name: str, frame: pl.DataFrame, table_format: TableFormat, title: str) -> None:
    """Print rows in the layout of the study's tables."""
    if table_format == "rich":
        screen().print(rich_table(name, frame, title=title))
    else:
        typer.echo(render_table(name, frame, table_format, title=title), nl=False)


def read_table(warehouse: Warehouse, query: TableQuery, plan_digest: str) -> pl.DataFrame:
    """Return a table's rows for a plan."""
    return rows_of_plan(ask_of(warehouse), query, plan_digest)


def choose_comparison(warehouse: Warehouse, plan_digest: str | None) -> str:
    """Return the named plan, or CaveAgent's latest comparison; empty without one."""
    found = warehouse.sql(command_sql("latest_comparison")).rows() if plan_digest is None else [(plan_digest,)]
    if found:
        return found[0][0]
    return ""


def print_verdicts(warehouse: Warehouse, plan_digest: str, table_format: TableFormat) -> None:
    """Print a row per hypothesis and group, and count distinct claims."""
    verdicts = read_verdicts(warehouse, plan_digest)
    frame = pl.DataFrame(verdicts, schema=_VERDICT_SCHEMA, orient="row")
    ordered = frame.sort(("variant", "base", "visibility", "header", "bucket"), maintain_order=True)
    print_frame("hypotheses", ordered, table_format, VERDICTS_TITLE)
    if not verdicts:
        typer.echo("no hypothesis has its statistic here")
    for line in count_claims(verdicts) if verdicts else ():
        typer.echo(line)


def read_verdicts(warehouse: Warehouse, plan_digest: str) -> list[Verdict]:
    """Return the verdicts on a plan's statistics, hypothesis by hypothesis."""
    rows = warehouse.sql(command_sql("plan_statistics"), plan_digest=plan_digest).arrow().to_pylist()
    statistics = [StatisticRow.model_validate(row) for row in rows]
    return judge(read_hypotheses(), statistics, _read_evidence(warehouse, plan_digest))


def _read_evidence(warehouse: Warehouse, plan_digest: str) -> Evidence:
    reasons: dict[Group, str | None] = {}
    ended_in_all_cells: dict[Group, int] = {}
    for *group, reason, ended in warehouse.sql(command_sql("judged_settings"), plan_digest=plan_digest).rows():
        reasons[Group(*group)] = reason
        ended_in_all_cells[Group(*group)] = ended
    ended_pairs = {}
    for *group, a, b, ended in warehouse.sql(command_sql("ended_pairs"), plan_digest=plan_digest).rows():
        ended_pairs[Group(*group), frozenset((a, b))] = ended
    ((minimum,),) = warehouse.sql("select ended_pair_minimum from staging.verdict_minimums").rows()
    endless = {metric for (metric,) in warehouse.sql("select metric from staging.endless_metrics").rows()}
    return Evidence(reasons, ended_in_all_cells, ended_pairs, minimum, frozenset(endless))


def print_questions(warehouse: Warehouse, plan_digest: str, number: int | None) -> None:
    """Print one question or all, with query and answer.

    Raise `UserError` for an unknown one.
    """
    console = screen()
    questions = read_questions(questions_text())
    chosen = [question for question in questions if number in (None, question.number)]
    if not chosen:
        raise UserError(f"no question {number}; choose from 1 to {len(questions)}")
    bucket = training_bucket(warehouse, plan_digest)
    for question in chosen:
        console.print(f"{question.number}. {question.words}", style="bold", markup=False)
        query = question.about(plan_digest, bucket)
        answer = answer_table(warehouse.sql(query).polars())
        console.print(f"\n{query}\n\n{answer}", markup=False, soft_wrap=True)


def training_bucket(warehouse: Warehouse, plan_digest: str) -> str:
    """Return the bucket that a plan's models are trained on; empty without episodes."""
    rows = warehouse.sql(command_sql("training_bucket"), plan_digest=plan_digest).rows()
    return rows[0][0] if rows else ""


def write_answers(warehouse: Warehouse, plan_digest: str, path: Path, numbers: Container[int]) -> list[int]:
    """Write answers into a copy of `sql/questions.md`; return their numbers.

    Raise `UserError` if it is no text, or asks none of the questions.
    """
    text = read_text_file(path)
    asked = [question for question in read_questions(text) if question.number in numbers]
    if not asked:
        raise UserError(f"{path} asks none of these questions; give a copy of sql/questions.md")
    bucket = training_bucket(warehouse, plan_digest)
    answers = {question.number: warehouse.sql(question.about(plan_digest, bucket)).polars() for question in asked}
    write_whole(path, replace_answers(text, answers))
    return list(answers)
