"""How many tasks of a flow run at a time, and how the keyboard ends them."""

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

from prefect.futures import PrefectFuture, wait
from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner

from flows.cli.messages import say
from tasks.running.interruption import interrupt


def two_at_a_time() -> TaskRunner[PrefectFuture[Any]]:
    """Return a task runner for two cores; its tasks wait for processes of their own, so threads are enough."""
    return cast(TaskRunner[PrefectFuture[Any]], ThreadPoolTaskRunner(max_workers=2))


@contextmanager
def interruptible(run_id: str, tasks: Sequence[PrefectFuture[Any]]) -> Iterator[None]:
    """Wait for tasks of a run in the block; where the keyboard interrupts it, they end as at a limit before it does.

    A second interrupt ends the process at once, which loses no more than a kill.
    """
    try:
        yield
    except KeyboardInterrupt:
        interrupt(run_id)
        say("stopping: trainings end now, episodes that run end first; Ctrl-C again ends all at once")
        handler = signal.signal(signal.SIGINT, signal.SIG_DFL)
        try:
            wait(list(tasks))
        finally:
            signal.signal(signal.SIGINT, handler)
        raise
