"""Transient faults of a task, which Prefect retries."""

from typing import Any

from prefect.tasks import exponential_backoff

from carryover.storage.errors import UnreachableZoneError, WarehouseBusyError
from carryover.tasks.sft.child_process import KilledTrainingError

PASSING = (UnreachableZoneError, WarehouseBusyError, KilledTrainingError)
"""Transient failures."""
RETRIES: dict[str, Any] = {
    "retries": 3,
    "retry_delay_seconds": exponential_backoff(5),  # 5, 10 and 20 s
    "retry_condition_fn": lambda _task, _run, state: isinstance(state.data, PASSING),
}
"""Options of a task that resumes where it stopped."""
