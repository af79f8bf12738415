"""The work pool that trains: what it lacks to do so, and how a study hands its training over."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID

import httpx
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.objects import State, WorkerStatus
from prefect.deployments import run_deployment
from prefect.exceptions import ObjectNotFound
from prefect.settings import PREFECT_API_URL
from prefect.states import Cancelling

from carryover.flows.cli.messages import say, warn
from carryover.flows.stage_flows import STOPPED
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.folders import DEPLOYED_VARIABLE, Folders

GPU_POOL = "gpu"
TRAINING_DEPLOYMENT = "train-models/training"
SECONDS_PER_LOOK = 2.0
"""Seconds between two polls for the training's end."""
LOOKS_PER_CHECK = 25
"""Polls of the training between two checks for a worker: less than a minute."""
CHECKS_WITHOUT_WORKER = 72
"""Consecutive checks without a worker before the training is cancelled: an hour."""
_PAUSE = partial(time.sleep, SECONDS_PER_LOOK)


def gpu_pool_lacks() -> str | None:
    """Return the missing prerequisite of the work pool `gpu`, or None."""
    if PREFECT_API_URL.value() is None:
        return "a Prefect server with a work pool 'gpu' (name it with PREFECT_API_URL)"
    with get_client(sync_client=True) as client:
        try:
            client.read_deployment_by_name(TRAINING_DEPLOYMENT)
            workers = client.read_workers_for_work_pool(GPU_POOL)
        except ObjectNotFound:
            return f"the deployment {TRAINING_DEPLOYMENT} on the Prefect server (make deploy)"
        except httpx.HTTPError as error:
            return f"an answer from the Prefect server {PREFECT_API_URL.value()} ({error})"
    if not any(worker.status is WorkerStatus.ONLINE for worker in workers):
        return f"an online worker on the work pool 'gpu' (prefect worker start --pool {GPU_POOL})"
    return None


def train_on_gpu_pool(parameters: dict[str, object], folders: Folders) -> None:
    """Run the training deployment to its end, landing where the study does; raise `UserError` if it fails."""
    # Typed as a coroutine; called from a flow that is not async, it returns the flow run, here without waiting for it.
    variables = {"env": {DEPLOYED_VARIABLE: folders.landing}} if folders.is_shared else None
    flow_run: Any = run_deployment(
        TRAINING_DEPLOYMENT, parameters=parameters, job_variables=variables, timeout=0, as_subflow=True
    )
    with get_client(sync_client=True) as client:
        state = wait_for_end(client, flow_run.id)
    if not state.is_completed():
        raise UserError(f"training on the work pool {GPU_POOL!r} ended as {state}; its logs are in Prefect")


def wait_for_end(
    server: SyncPrefectClient,
    flow_run_id: UUID,
    pause: Callable[[], None] = _PAUSE,
    lacks: Callable[[], str | None] = gpu_pool_lacks,
) -> State:
    """Return the state in which a flow run ends; Ctrl-C and SIGTERM before that cancel it.

    Its worker then ends its process, and a training with it; the next start goes on from the last checkpoint. A server
    that fails ends the wait alone: the training goes on. Missing prerequisites are logged repeatedly; after an hour of
    them the flow run is cancelled and `UserError` raised.
    """
    looks = lacking = 0
    try:
        while not ((state := server.read_flow_run(flow_run_id).state) and state.is_final()):
            looks += 1
            if looks % LOOKS_PER_CHECK == 0:
                lack = lacks()
                lacking = lacking + 1 if lack else 0
                if lacking == CHECKS_WITHOUT_WORKER:
                    server.set_flow_run_state(flow_run_id, Cancelling())
                    raise UserError(f"training cancelled after an hour; missing: {lack}")
                if lack:
                    warn(f"training is waiting; missing: {lack}")
            pause()
    except STOPPED:
        told = f"stopping: the training on the work pool {GPU_POOL!r} is cancelled"
        try:
            server.set_flow_run_state(flow_run_id, Cancelling())
        except (httpx.HTTPError, ObjectNotFound) as error:
            told = (
                f"the training on the work pool {GPU_POOL!r} goes on, since the Prefect server does not answer "
                f"({error}); prefect flow-run cancel {flow_run_id} ends it"
            )
        say(told)
        raise
    return state
