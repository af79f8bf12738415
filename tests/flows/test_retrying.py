"""A task whose fault may pass runs again, after a growing pause."""

import pytest
from prefect import flow, task
from prefect.settings import PREFECT_API_URL, temporary_settings

from carryover.storage.errors import UnreachableZoneError, WarehouseBusyError, WarehouseError
from carryover.tasks.analyse import merge_landing
from carryover.tasks.services.errors import UserError
from carryover.tasks.sft.child_process import KilledTrainingError
from carryover.tasks.stages.retrying import RETRIES
from carryover.tasks.train import train_model


@pytest.mark.parametrize("retried", [merge_landing, train_model], ids=["merge", "training"])
def test_merge_and_training_are_run_again_after_growing_pauses(retried):
    assert retried.retry_delay_seconds == [5, 10, 20]
    assert retried.retry_condition_fn is RETRIES["retry_condition_fn"]


@pytest.mark.prefect
@pytest.mark.parametrize(
    ("error", "is_passing"),
    [
        (WarehouseBusyError("another merge"), True),
        (UnreachableZoneError("no answer"), True),
        (KilledTrainingError("signal 9"), True),
        (WarehouseError("no warehouse"), False),
        (UserError("no data"), False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_only_transient_faults_are_retried(prefect_api, error, is_passing):
    tries = []

    @task(**{**RETRIES, "retry_delay_seconds": 0})
    def fail_twice():
        tries.append(1)
        if len(tries) < 3:
            raise error

    @flow
    def try_on():
        fail_twice()

    with temporary_settings({PREFECT_API_URL: prefect_api}):
        state = try_on(return_state=True)
    assert (len(tries), state.is_completed()) == ((3, True) if is_passing else (1, False))
