"""Queries that Ctrl-C interrupts: DuckDB's relations ignore signals while they run."""

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import TypeVar

from duckdb import DuckDBPyConnection

WAIT_SECONDS = 0.05
"""Seconds of one wait for a query.

Polars' handler of the signal restarts a wait, so that only one which ends by itself hears the keyboard; and DuckDB
forgets an interrupt of a query that has not begun.
"""

Result = TypeVar("Result")


def stoppable(connection: DuckDBPyConnection, ask: Callable[[], Result]) -> Result:
    """Run `ask` on the connection in a stoppable thread.

    Raise `KeyboardInterrupt` once the connection has stopped working on it, where the keyboard interrupts.
    """
    answer: Future[Result] = Future()

    def work() -> None:
        if not answer.set_running_or_notify_cancel():
            return
        try:
            answer.set_result(ask())
        except BaseException as error:  # noqa: BLE001 - raised below, where the answer is waited for
            answer.set_exception(error)

    worker = Thread(target=work, daemon=True)
    try:
        worker.start()
        while not answer.done():
            worker.join(WAIT_SECONDS)
    except KeyboardInterrupt:
        while not (answer.cancel() or answer.done()):
            connection.interrupt()
            worker.join(WAIT_SECONDS)
        raise
    return answer.result()
