"""The work pool that trains: its needs, and handing trainings over."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any
from uuid import UUID

import httpx
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.objects import State, Worker, WorkerStatus
from prefect.deployments import run_deployment
from prefect.exceptions import ObjectNotFound
from prefect.settings import PREFECT_API_URL
from prefect.states import Cancelling

from carryover.flows.cli.machine.worker import GPU_POOL
from carryover.flows.cli.messages import say, warn
from carryover.flows.stage_flows import STOPPED
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.folders import DEPLOYED_VARIABLE, Folders
from carryover.tasks.sft.machine import Machine, MachineNeed, lacks_of, read_name

TRAINING_DEPLOYMENT = "train-models/training"
SECONDS_PER_LOOK = 2.0
"""Seconds between two polls for the training's end."""
LOOKS_PER_CHECK = 25
"""Polls of the training between two checks for a worker: less than a minute."""
CHECKS_WITHOUT_WORKER = 72
"""Consecutive checks without a worker before the training is cancelled: an hour."""
HOW_TO_START = f"carryover worker --pool {GPU_POOL}"
_PAUSE = partial(time.sleep, SECONDS_PER_LOOK)


def gpu_pool_lacks(needs: Sequence[MachineNeed] = ()) -> str | None:
    """Return the missing prerequisite of the work pool `gpu`, or None.

    One of its workers must meet all needs.
    """
    if PREFECT_API_URL.value() is None:
        return "a Prefect server with a work pool 'gpu' (name it with PREFECT_API_URL)"
    with get_client(sync_client=True) as client:
        try:
            deployment = client.read_deployment_by_name(TRAINING_DEPLOYMENT)
            pool = client.read_work_pool(GPU_POOL)
            workers = client.read_workers_for_work_pool(GPU_POOL)
        except ObjectNotFound:
            return f"the deployment {TRAINING_DEPLOYMENT} on the Prefect server (make deploy)"
        except httpx.HTTPError as error:
            return f"an answer from the Prefect server {PREFECT_API_URL.value()} ({error})"
    return lacks_of_pool(pool.type, deployment.job_variables or {}, workers, needs)


def lacks_of_pool(
    pool_type: str, job_variables: Mapping[str, Any], workers: Sequence[Worker], needs: Sequence[MachineNeed]
) -> str | None:
    """Return what a pool's workers lack of needs, or None.

    A worker of a process pool trains itself, and its name says what it has. A worker of another pool has the training
    done elsewhere, on as many GPUs as the deployment asks for, of unknown memory.
    """
    names = [worker.name for worker in workers if worker.status is WorkerStatus.ONLINE]
    if not names:
        return f"an online worker on the work pool 'gpu' ({HOW_TO_START})"
    if pool_type != "process":
        device = "a GPU" if job_variables.get("gpus") else None
        return lacks_of(needs, {f"pods of the {pool_type} pool": Machine(device)})
    machines = {f"the worker {name}": read_name(name) for name in names}
    lack = lacks_of(needs, machines)
    has_unknown_machine = None in machines.values()
    if lack is not None and has_unknown_machine:
        return f"{lack}: the name of a worker says what it has where `{HOW_TO_START}` starts it"
    return lack


def train_on_gpu_pool(parameters: dict[str, object], folders: Folders, needs: Sequence[MachineNeed]) -> None:
    """Run the training deployment to its end; raise `UserError` if it fails.

    `needs` are what its worker must have.
    """
    # Typed as a coroutine; called from a flow that is not async, it returns the flow run, here without waiting for it.
    variables = None
    if folders.is_shared:
        variables = {"env": {DEPLOYED_VARIABLE: folders.landing}}
    flow_run: Any = run_deployment(
        TRAINING_DEPLOYMENT, parameters=parameters, job_variables=variables, timeout=0, as_subflow=True
    )
    with get_client(sync_client=True) as client:
        state = wait_for_end(client, flow_run.id, lacks=partial(gpu_pool_lacks, needs))
    if not state.is_completed():
        raise UserError(f"training on the work pool {GPU_POOL!r} ended as {state}; its logs are in Prefect")


def wait_for_end(
    server: SyncPrefectClient,
    flow_run_id: UUID,
    pause: Callable[[], None] = _PAUSE,
    lacks: Callable[[], str | None] = gpu_pool_lacks,
) -> State:
    """Return a flow run's end; Ctrl-C and SIGTERM cancel it.

    Its worker then ends its process, and a training with it; the next start goes on from the last checkpoint. A server
    that fails ends the wait alone: the training goes on. Missing prerequisites are logged repeatedly; after an hour of
    them the flow run is cancelled and `UserError` raised.
    """
    looks = lacking = 0
    try:
        while True:
            state = server.read_flow_run(flow_run_id).state
            if state is not None and state.is_final():
                break
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
        message = f"stopping: the training on the work pool {GPU_POOL!r} is cancelled"
        try:
            server.set_flow_run_state(flow_run_id, Cancelling())
        except (httpx.HTTPError, ObjectNotFound) as error:
            message = (
                f"the training on the work pool {GPU_POOL!r} goes on, since the Prefect server does not answer "
                f"({error}); prefect flow-run cancel {flow_run_id} ends it"
            )
        say(message)
        raise
    return state
