"""Progress of a task, on the terminal and in Prefect's UI."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import copy_context
from uuid import UUID

import httpx
from prefect.artifacts import create_progress_artifact, update_progress_artifact
from prefect.context import TaskRunContext

from carryover.tasks.services.progress import Advance, StageProgress, progress_bar

UPDATE_SECONDS = 5.0
"""Time between two updates of an artifact: each is a request."""


@contextmanager
def shown_progress(label: str, total: int, unit: str) -> Iterator[Advance]:
    """Show a bar and, inside a task, a progress artifact.

    A thread of its own keeps the artifact up to date: episodes are played on an event loop that must not wait.
    """
    progress = StageProgress(label, total, unit)
    is_over = threading.Event()

    def advance(count: int, detail: str = "") -> None:
        bar(count, detail)
        progress.add(count, detail)

    with progress_bar(label, total, unit) as bar:
        artifact = None
        if total > 0 and TaskRunContext.get() is not None:
            with suppress(httpx.HTTPError):  # the task goes on without a display
                artifact = create_progress_artifact(0.0, description=progress.describe(0.0)[1])
        if artifact is None:
            yield advance
            return
        reported = (_report, progress, artifact, is_over)
        reporter = threading.Thread(target=copy_context().run, args=reported, daemon=True)
        reporter.start()
        try:
            yield advance
        finally:
            is_over.set()
            reporter.join()


def _report(progress: StageProgress, artifact: UUID, is_over: threading.Event) -> None:
    started = time.monotonic()
    last_shown = -1
    is_last = False
    while not is_last:
        is_last = is_over.wait(UPDATE_SECONDS)
        if is_last or progress.done != last_shown:
            last_shown = progress.done
            share, text = progress.describe(time.monotonic() - started)
            with suppress(httpx.HTTPError):  # the next update tells more
                update_progress_artifact(artifact, share, description=text)
