"""Evaluation of suites by Great Expectations, with Data Docs."""

import json
import logging
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import polars as pl

from carryover.tasks.services.errors import UserError
from carryover.tasks.services.frozen_model import FrozenModel
from carryover.tasks.services.progress import OpenBar, no_bar
from carryover.tasks.services.whole_files import folder_written_whole
from carryover.tasks.traces.result_rows import CheckResultRow

if TYPE_CHECKING:
    from great_expectations.data_context.data_context.ephemeral_data_context import EphemeralDataContext
    from great_expectations.expectations.expectation import Expectation

logger = logging.getLogger(__name__)

LISTED_IDS = 20
"""Offending ids kept in a check row, and shown in Data Docs."""

_SITE = "carryover"


class Check(FrozenModel):
    """One expectation on a table; nulls keep every bound."""

    name: str
    """Name in Data Docs, in check rows and in error messages."""
    kind: Literal["between", "in_set", "row_count"]
    column: str | None = None
    """The column, for `between` and `in_set`."""
    minimum: float | None = None
    """Smallest value, or fewest rows."""
    maximum: float | None = None
    """Largest value, or most rows."""
    allowed: tuple[str, ...] = ()
    """Values of `in_set`."""
    minimum_share: float = 1.0
    """Share of the non-null rows that must keep the bound."""

    def is_broken(self) -> pl.Expr:
        """Return the expression that is true for rows breaking the check.

        None do for `row_count`.
        """
        if self.column is None:
            return pl.lit(value=False)
        column = pl.col(self.column)
        if self.kind == "in_set":
            return ~column.is_in(list(self.allowed)) & column.is_not_null()
        too_low = pl.lit(value=False) if self.minimum is None else column < self.minimum
        too_high = pl.lit(value=False) if self.maximum is None else column > self.maximum
        return (too_low | too_high).fill_null(value=False)


class Suite(NamedTuple):
    """Checks on one table."""

    name: str
    frame: pl.DataFrame
    checks: tuple[Check, ...]
    id_column: str
    """Names the rows that break a check."""


class FailedChecksError(UserError):
    """Data that break their checks.

    `rows` holds every check's result, passed or not.
    """

    def __init__(self, message: str, rows: list[CheckResultRow]) -> None:
        super().__init__(message)
        self.rows = rows


def run_suites(
    suites: Sequence[Suite], docs_folder: Path, *, run_id: str, checked_at: datetime, open_bar: OpenBar = no_bar
) -> list[CheckResultRow]:
    """Evaluate every suite, replace the Data Docs, and return check rows.

    Of processes that write one folder at once, the last one's pages stay, whole. `open_bar` shows the checks, a suite
    at a time. Raise `UserError` where one could not be evaluated.
    """
    context = _open_context()
    rows = []
    with open_bar("Great Expectations", sum(len(suite.checks) for suite in suites), "checks") as advance:
        for suite in suites:
            results = _evaluate(context, suite)
            rows += [
                CheckResultRow(
                    run_id=run_id,
                    check_run_id=f"{run_id}-{suite.name}",
                    suite=suite.name,
                    check_name=check.name,
                    is_passed=bool(results[check.name].success),
                    row_count=suite.frame.height,
                    unexpected_count=int(results[check.name].result.get("unexpected_count", 0)),
                    threshold_json=check.model_dump_json(exclude={"name"}, exclude_defaults=True),
                    unexpected_json=json.dumps(_first_offenders(suite, check)),
                    checked_at=checked_at,
                )
                for check in suite.checks
            ]
            advance(len(suite.checks), suite.name)
    _write_docs(context, docs_folder)
    return rows


def _write_docs(context: "EphemeralDataContext", folder: Path) -> None:
    """Replace the Data Docs of a folder, whole.

    Pages that cannot be written are one warning, where Great Expectations logs tracebacks; the old ones stay.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with folder_written_whole(folder, replaces=True) as unfinished:
            _build_docs(context, unfinished)
    except OSError as error:
        logger.warning(f"the pages of the data checks were not written to {folder}: {error}")


def _build_docs(context: "EphemeralDataContext", folder: Path) -> None:
    """Write Data Docs into a new folder; raise `OSError` for a page that cannot be written."""
    failures: list[str] = []

    def note(record: logging.LogRecord) -> bool:
        if record.levelno < logging.ERROR:
            return True
        failures.append(record.getMessage().partition("follows:")[2].partition("Traceback:")[0].strip())
        return False

    folder.mkdir()
    store = {"class_name": "TupleFilesystemStoreBackend", "base_directory": str(folder.absolute())}
    context.add_data_docs_site(
        _SITE,
        {
            "class_name": "SiteBuilder",
            "store_backend": store,
            "site_index_builder": {"class_name": "DefaultSiteIndexBuilder"},
        },
    )
    builder = logging.getLogger("great_expectations.render.renderer.site_builder")
    builder.addFilter(note)
    try:
        context.build_data_docs(site_names=[_SITE])
    finally:
        builder.removeFilter(note)
    if failures:
        raise OSError(failures[0])


def _open_context() -> "EphemeralDataContext":
    import great_expectations as gx
    from great_expectations.data_context.types.base import DataContextConfig, InMemoryStoreBackendDefaults

    config = DataContextConfig(
        store_backend_defaults=InMemoryStoreBackendDefaults(init_temp_docs_sites=False), analytics_enabled=False
    )
    config["progress_bars"] = {"globally": False}
    return gx.get_context(mode="ephemeral", project_config=config)


def _evaluate(context: "EphemeralDataContext", suite: Suite) -> dict[str, Any]:
    """Return what Great Expectations found, by the check's name."""
    import great_expectations as gx

    stated = [_expectation(check, _first_offenders(suite, check)) for check in suite.checks]
    expectations = gx.ExpectationSuite(name=suite.name, expectations=stated)
    asset = context.data_sources.add_pandas(suite.name).add_dataframe_asset(suite.name)
    batch = asset.add_batch_definition_whole_dataframe("all")
    definition = context.validation_definitions.add(
        gx.ValidationDefinition(name=suite.name, data=batch, suite=context.suites.add(expectations))
    )
    # Not in full: for the offending rows of a large table it would take a minute.
    result = definition.run(batch_parameters={"dataframe": suite.frame.to_pandas()}, result_format="SUMMARY")
    results = {}
    for each in result.results:
        name = ""
        if each.expectation_config:
            name = (each.expectation_config.meta or {})["check"]
        if message := _exception(each.exception_info):
            raise UserError(f"Great Expectations could not evaluate {name} of {suite.name}: {message}")
        results[name] = each
    return results


def _exception(info: Any) -> str | None:
    """Return the message of an exception, however deep the information nests it.

    None if none was raised.
    """
    if not isinstance(info, dict):
        return None
    if info.get("raised_exception"):
        return str(info.get("exception_message")).strip().splitlines()[0]
    for value in info.values():
        message = _exception(value)
        if message:
            return message
    return None


def _first_offenders(suite: Suite, check: Check) -> list[str]:
    return suite.frame.filter(check.is_broken())[suite.id_column].head(LISTED_IDS).cast(str).to_list()


def _expectation(check: Check, shown_ids: Sequence[str]) -> "Expectation":
    """Return a check as an expectation that shows ids in Data Docs."""
    from great_expectations.expectations import core

    # without a description, Great Expectations' own words
    shared: dict[str, Any] = {"meta": {"check": check.name}, "notes": check.name, "description": None}
    if shown_ids:
        limits = {"at least": check.minimum, "at most": check.maximum}
        asked = " and ".join(f"{words} {bound}" for words, bound in limits.items() if bound is not None)
        asked = f"one of {', '.join(check.allowed)}" if check.kind == "in_set" else asked
        found = f"first offending ids: {', '.join(shown_ids)}"
        shared["description"] = f"{check.name}: {asked}, at least {check.minimum_share:.0%} of the time; {found}"
    bounds = {"min_value": check.minimum, "max_value": check.maximum}
    if check.kind == "row_count":
        return core.ExpectTableRowCountToBeBetween(**bounds, **shared)
    shared |= {"column": check.column, "mostly": check.minimum_share}
    if check.kind == "in_set":
        return core.ExpectColumnValuesToBeInSet(value_set=list(check.allowed), **shared)
    return core.ExpectColumnValuesToBeBetween(**bounds, **shared)
