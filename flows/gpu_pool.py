"""The work pool that trains: whether a worker serves it, and how a study hands its training over."""

from typing import Any

from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import WorkerStatus
from prefect.deployments import run_deployment
from prefect.exceptions import ObjectNotFound
from prefect.settings import PREFECT_API_URL

from tasks.running.errors import UserError

GPU_POOL = "gpu"
TRAINING_DEPLOYMENT = "train-models/training"


def has_gpu_worker() -> bool:
    """Tell whether a worker is online on the work pool `gpu` of the configured Prefect server."""
    if PREFECT_API_URL.value() is None:
        return False
    with get_client(sync_client=True) as client:
        try:
            workers = client.read_workers_for_work_pool(GPU_POOL)
        except ObjectNotFound:
            return False
    return any(worker.status is WorkerStatus.ONLINE for worker in workers)


def train_on_gpu_pool(parameters: dict[str, object]) -> None:
    """Run the training deployment on its work pool and wait for its end.

    Raises:
        UserError: It did not complete.
    """
    # Typed as a coroutine; called from a flow that is not async, it waits and returns the flow run.
    flow_run: Any = run_deployment(TRAINING_DEPLOYMENT, parameters=parameters, as_subflow=True)
    state = flow_run.state
    if state is None or not state.is_completed():
        raise UserError(f"training on the work pool {GPU_POOL!r} ended as {state}; its logs are in Prefect")
