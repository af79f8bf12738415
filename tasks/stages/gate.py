"""The gate over merged tables: `sql/checks` as expectations."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import polars as pl

from carryover.storage.warehouse.reader import Warehouse
from carryover.tasks.checks.suites import Check, Suite, run_suites
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.progress import OpenBar, no_bar
from carryover.tasks.stages.plan_check import NAME as PLAN_CHECK
from carryover.tasks.stages.plan_check import PLANS, PLAYED, miscounted_conditions
from carryover.tasks.traces.result_rows import CheckResultRow
from carryover.tasks.traces.tables import TABLES

REQUIRED_TABLES = ("runs", "instances", "episodes", "turns", "steps")
"""Tables without which there is nothing to say about a study; families other than the knapsack have no items."""

SUBJECTS = {
    "table_name": "tables",
    "plan_digest": "runs",
    "instance_id": "instances",
    "episode_id": "episodes",
    "training_run_id": "training_runs",
    "statistic_id": "statistics",
}
"""Suite of a check, by the first column of its query: that column identifies the rows which break the rule."""


_OF_EVERY_TABLE = {
    "table_keys_are_unique": """
        select '{table}' as table_name, [{key_texts}::varchar] as key, count(*) as row_count
        from main.{table} group by {key} having count(*) > 1
    """,
    "table_rows_trace_to_a_run": """
        select '{table}' as table_name, run_id, count(*) as row_count
        from main.{table} where run_id not in (select run_id from main.runs) group by run_id
    """,
}
"""Checks that are the same for every table; what they fill in comes from the row models."""


class CheckFile(NamedTuple):
    """A query for rows that break a rule, mostly of `sql/checks`."""

    name: str
    query: str


def gate_warehouse(
    path: str | Path,
    docs_folder: str | Path,
    *,
    run_id: str | None = None,
    plan_digest: str | None = None,
    open_bar: OpenBar = no_bar,
) -> list[CheckResultRow]:
    """Evaluate every check on the merged tables and write Data Docs.

    A check passes where its file finds no row. Great Expectations gates one verdict per episode, instance and so on,
    and must count the same offenders as the SQL. `path` is a warehouse file or a landing zone; Data Docs begin at
    `index.html` in `docs_folder`. With `plan_digest`, a plan that is complete, checks that compare a plan's conditions
    leave other plans out, which may be under way.

    Raises:
        QueryError: A file of `sql/checks` does not run.
        UserError: Great Expectations could not evaluate a check, or counts other offenders than the SQL.
    """
    checked_at = datetime.now(UTC)
    with Warehouse.open(path) as warehouse:
        offenders = _find_offenders(warehouse, plan_digest, open_bar)
        suites = [_table_suite(warehouse, offenders["table_name"])]
        for id_column, name in list(SUBJECTS.items())[1:]:
            subjects = warehouse.sql(f"select distinct {id_column} from main.{name}").polars()
            suites.append(_suite(name, subjects, id_column, offenders[id_column]))
    suites = [suite for suite in suites if suite.frame.height]
    rows = run_suites(
        suites,
        Path(docs_folder),
        run_id=run_id or f"gate-{checked_at:%Y%m%dT%H%M%S}",
        checked_at=checked_at,
        open_bar=open_bar,
    )
    require_same_counts(suites, rows)
    return rows


def check_files() -> list[CheckFile]:
    """Return the files of `sql/checks` and the generated checks, sorted."""
    sources = [file for file in (files("carryover.sql") / "checks").iterdir() if file.name.endswith(".sql")]
    checks = [CheckFile(file.name.removesuffix(".sql"), file.read_text(encoding="utf-8")) for file in sources]
    for name, template in _OF_EVERY_TABLE.items():
        queries = (
            template.format(table=table, key=", ".join(model.KEY), key_texts="::varchar, ".join(model.KEY))
            for table, model in TABLES.items()
        )
        checks.append(CheckFile(name, f"{' union all '.join(queries)} order by all"))
    return sorted(checks)


def require_same_counts(suites: Sequence[Suite], rows: Sequence[CheckResultRow]) -> None:
    """Raise `UserError` if expectations and frames disagree on a check."""
    counted = {(row.suite, row.check_name): row for row in rows}
    for suite in suites:
        for check in suite.checks:
            row = counted[suite.name, check.name]
            expected = suite.frame.filter(check.is_broken()).height
            if row.unexpected_count != expected or row.is_passed != (expected == 0):
                raise UserError(
                    f"{check.name} of {suite.name}: {expected} offenders by SQL, {row.unexpected_count} by Great "
                    "Expectations; nothing is known about the data"
                )


def _find_offenders(
    warehouse: Warehouse, plan_digest: str | None, open_bar: OpenBar
) -> dict[str, dict[str, pl.DataFrame]]:
    """Return the broken rows' count by id column, check and id."""
    offenders: dict[str, dict[str, pl.DataFrame]] = defaultdict(dict)
    checks = [*check_files(), CheckFile(PLAN_CHECK, PLAYED)]
    with open_bar("checks on the merged tables", len(checks), "checks") as advance:
        for check in checks:
            rows = warehouse.sql(check.query).polars()
            if check.name == PLAN_CHECK:
                rows = miscounted_conditions(warehouse.sql(PLANS).polars(), rows)
            if plan_digest is not None and "plan_digest" in rows.columns:
                rows = rows.filter(pl.col("plan_digest") == plan_digest)
            id_column = rows.columns[0]
            if id_column not in SUBJECTS:
                raise ValueError(
                    f"sql/checks/{check.name}.sql starts with {id_column!r}; choose from {', '.join(SUBJECTS)}"
                )
            offenders[id_column][check.name] = rows.group_by(id_column).agg(pl.len().cast(pl.Int64).alias(check.name))
            advance(1, check.name)
    return offenders


def _table_suite(warehouse: Warehouse, offenders: dict[str, pl.DataFrame]) -> Suite:
    counts = [(table, warehouse.sql(f"select count(*) from main.{table}").rows()[0][0]) for table in TABLES]
    tables = pl.DataFrame(counts, schema={"table_name": pl.String, "row_count": pl.Int64}, orient="row")
    is_required = pl.col("table_name").is_in(REQUIRED_TABLES)
    suite = _suite("tables", tables, "table_name", offenders)
    frame = suite.frame.with_columns(required_row_count=pl.when(is_required).then(pl.col("row_count")))
    rows_exist = Check(name="table_rows_exist", kind="between", column="required_row_count", minimum=1)
    return suite._replace(frame=frame, checks=(rows_exist, *suite.checks))


def _suite(name: str, subjects: pl.DataFrame, id_column: str, offenders: dict[str, pl.DataFrame]) -> Suite:
    """Return a suite over one row per subject.

    An offender that is no subject has a row as well.
    """
    ids = pl.concat([subjects.select(id_column), *(found.select(id_column) for found in offenders.values())]).unique()
    frame = ids.join(subjects, on=id_column, how="left")
    for found in offenders.values():
        frame = frame.join(found, on=id_column, how="left")
    frame = frame.with_columns(pl.col(*offenders).fill_null(0)).sort(id_column)
    checks = tuple(Check(name=name, kind="between", column=name, maximum=0) for name in offenders)
    return Suite(name, frame, checks, id_column)
