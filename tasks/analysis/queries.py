"""Queries as files with `$named` parameters: tables and commands."""

import re
from collections.abc import Collection
from importlib.resources import files
from typing import NamedTuple

from carryover.tasks.services.errors import UserError
from carryover.tasks.traces.vocabulary import PAPER_FAMILY

_ABOUT_THE_KNAPSACK = ("claims", "failure_percentages", "failure_sensitivity", "predictions")
"""Further tables about the Opaque Knapsack, beside the paper's by number."""


class TableQuery(NamedTuple):
    """One file of `sql/tables`."""

    name: str
    """The file's stem, e.g. `table_2`."""
    title: str
    """Description of the rows: the file's first line, a comment."""
    sql: str
    parameters: tuple[str, ...]
    """Names of the parameters that the query wants, sorted; `plan_digest` in nearly all."""


def table_names(*, is_cave: bool = False) -> list[str]:
    """Return the study's table names, the paper's first; or CaveAgent's."""
    names = [file.name for file in (files("carryover.sql") / "tables").iterdir()]
    stems = [name[:-4] for name in names if name.endswith(".sql") and name.startswith("cave_") == is_cave]
    return sorted(stems, key=_reading_order)


def tables_of(families: Collection[str]) -> list[str]:
    """Return the tables of some families; the paper's are the knapsack's."""
    if families and PAPER_FAMILY not in families:
        return general_tables()
    return table_names()


def general_tables() -> list[str]:
    """Return the names of the tables for every task family."""
    return [name for name in table_names() if not is_of_the_paper(name)]


def is_of_the_paper(name: str) -> bool:
    """Tell whether a table is about the paper's own family."""
    return name in _ABOUT_THE_KNAPSACK or re.fullmatch(r"(table|figure)_\d+", name) is not None


def table_query(name: str) -> TableQuery:
    """Return a table's query by name or number.

    `2` means `table_2`. Raise `UserError` for an unknown one.
    """
    number = re.fullmatch(r"(?:table_?)?0*(\d+)", name)
    stem = f"table_{number[1]}" if number else name
    known = [*table_names(), *table_names(is_cave=True)]
    if stem not in known:
        raise UserError(f"unknown table {name!r}; choose from {', '.join(known)}")
    sql = (files("carryover.sql") / "tables" / f"{stem}.sql").read_text(encoding="utf-8")
    title = sql.partition("\n")[0].removeprefix("--").strip()
    return TableQuery(stem, title, sql, tuple(sorted(set(re.findall(r"\$([a-z_]+)", sql)))))


def command_sql(name: str) -> str:
    """Return the query `sql/commands/NAME.sql`."""
    return (files("carryover.sql") / "commands" / f"{name}.sql").read_text(encoding="utf-8")


def _reading_order(stem: str) -> tuple[bool, int, str]:
    """Sort the paper's tables by number, then ours by name."""
    number = re.fullmatch(r"table_(\d+)", stem)
    return number is None, int(number[1]) if number else 0, stem
