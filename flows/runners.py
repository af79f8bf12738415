"""How many tasks of a flow run at a time."""

from typing import Any, cast

from prefect.futures import PrefectFuture
from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner


def two_at_a_time() -> TaskRunner[PrefectFuture[Any]]:
    """Return a task runner for two cores; its tasks wait for processes of their own, so threads are enough."""
    return cast(TaskRunner[PrefectFuture[Any]], ThreadPoolTaskRunner(max_workers=2))
