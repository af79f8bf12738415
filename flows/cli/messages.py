"""Messages of a flow to the person in front of it."""

import logging
import os
import sys
from collections.abc import Sequence

from prefect.exceptions import MissingContextError
from prefect.logging import get_run_logger
from prefect.logging.handlers import PrefectConsoleHandler
from rich.console import Console

from carryover.storage.warehouse.merger import MergeReport
from carryover.tasks.collect import Collected
from carryover.tasks.services.errors import UserError

console = Console(stderr=True, highlight=False)


def say(text: str, level: int = logging.INFO) -> None:
    """Print one line in the run's log or on standard error.

    Prefect may print the log there; then it is said once.
    """
    try:
        get_run_logger().log(level, "%s", text)
    except MissingContextError:
        is_printed = False
    else:
        is_printed = any(_is_not_prefects not in handler.filters for handler in _log_printers())
    if not is_printed:
        console.print(text, markup=False)
        sys.stderr.flush()


def warn(text: str) -> None:
    """Tell a warning, as `say` does."""
    say(text, logging.WARNING)


def keep_logs_off_terminal() -> None:
    """Suppress Prefect's console log; library warnings still print."""
    for handler in _log_printers():
        handler.addFilter(_is_not_prefects)


def _log_printers() -> list[logging.Handler]:
    return [handler for handler in logging.getLogger().handlers if isinstance(handler, PrefectConsoleHandler)]


def _is_not_prefects(record: logging.LogRecord) -> bool:
    return not record.name.startswith("prefect")


def silence_exit() -> None:
    """Close standard error while the interpreter ends.

    DuckDB lists every object there that a run left alive.
    """
    sys.stderr.flush()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def report_unmerged(report: MergeReport) -> None:
    """Tell which landed files a merge did not take in, and why."""
    for sentence in report.left_out():
        warn(sentence)


def report_errors(collected: Sequence[Collected]) -> None:
    """Tell how many episodes of a stage ended with an error.

    Raise `UserError` if all are played now and did.
    """
    count = sum(one.error_count for one in collected)
    if count:
        first = next(one.first_error for one in collected if one.first_error is not None)
        given_up = sum(one.given_up_count for one in collected)
        kept = "they are kept as attempts and excluded from the tables"
        becomes = f"the next start plays {count - given_up} of them again"
        becomes += f" and gives up {given_up}" if given_up else ""
        say(f"{count} episodes ended with an error ({first}); {kept}; {becomes}")
    if 0 < count == sum(one.planned_count for one in collected):
        raise UserError(f"every episode, {count} in all, ended with an error; fix the cause and run it again")
