"""Which faults of a task may pass, so that Prefect runs it again in a while."""

from typing import Any

from prefect import Task
from prefect.client.schemas.objects import State, TaskRun
from prefect.tasks import exponential_backoff

from carryover.storage.errors import UnreachableZoneError, WarehouseBusyError
from carryover.tasks.sft.train_process import KilledTrainingError

PASSING = (UnreachableZoneError, WarehouseBusyError, KilledTrainingError)


def may_pass(_task: Task[..., Any], _run: TaskRun, state: State[Any]) -> bool:
    """Tell whether what a task run failed with may be gone in a while."""
    return isinstance(state.data, PASSING)


RETRIES: dict[str, Any] = {
    "retries": 3,
    "retry_delay_seconds": exponential_backoff(5),  # 5, 10 and 20 s
    "retry_condition_fn": may_pass,
}
"""Options of a task that goes on where it stopped."""
