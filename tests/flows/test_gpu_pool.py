"""A pool takes the trainings that its workers have machines for; one that was handed over ends with who waits."""

from contextlib import nullcontext
from pathlib import Path
from signal import SIGTERM
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import httpx
import pytest
from prefect.client.schemas.objects import FlowRun, Worker, WorkerStatus
from prefect.exceptions import ObjectNotFound, TerminationSignal
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect.states import Completed, Failed, Pending, Running

from carryover.flows import gpu_pool
from carryover.flows.gpu_pool import (
    CHECKS_WITHOUT_WORKER,
    LOOKS_PER_CHECK,
    SECONDS_PER_LOOK,
    lacks_of_pool,
    wait_for_end,
)
from carryover.tasks.plans.preflight import check_machine, check_needs, training_needs
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.folders import Folders
from carryover.tasks.sft.machine import Machine
from carryover.tasks.sft.resources import GIB

TRAINING = UUID(int=1)


class Server:
    """Answers with one state after the other, and remembers what it is told."""

    def __init__(self, *states, is_gone=False):
        self.states = list(states)
        self.is_gone = is_gone
        self.told = []

    def read_flow_run(self, flow_run_id):
        assert flow_run_id == TRAINING
        state = self.states.pop(0)
        if isinstance(state, Exception):
            raise state
        return FlowRun(flow_id=UUID(int=2), state=state)

    def set_flow_run_state(self, flow_run_id, state):
        if self.is_gone:
            raise httpx.ConnectError("connection refused")
        self.told.append((flow_run_id, state.name))


def interrupt():
    raise KeyboardInterrupt


def wait(server: Any, pause, lacks=lambda: None):
    return wait_for_end(server, TRAINING, pause, lacks)


def terminate():
    raise TerminationSignal(SIGTERM)


def test_a_training_is_waited_for_until_it_ends():
    pauses = []
    server = Server(None, Pending(), Running(), Completed())
    assert wait(server, lambda: pauses.append(1)).is_completed()
    assert len(pauses) == 3
    assert server.told == []


@pytest.mark.parametrize(("stop", "error"), [(interrupt, KeyboardInterrupt), (terminate, TerminationSignal)])
def test_signal_cancels_the_training_on_the_work_pool(capsys, stop, error):
    server = Server(Running())
    with pytest.raises(error):
        wait(server, stop)
    assert server.told == [(TRAINING, "Cancelling")]
    assert "stopping: the training on the work pool 'gpu' is cancelled" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("landing", "variables"),
    [("/d/landing", None), ("s3://bucket/landing", {"env": {"CARRYOVER_DEPLOYED_LANDING": "s3://bucket/landing"}})],
)
def test_a_worker_lands_where_the_study_does(monkeypatch, landing, variables):
    asked = []

    def run_deployment(name, **settings):
        asked.append((name, settings))
        return FlowRun(id=TRAINING, flow_id=UUID(int=2))

    monkeypatch.setattr(gpu_pool, "run_deployment", run_deployment)
    monkeypatch.setattr(gpu_pool, "get_client", lambda **_: nullcontext(Server(Completed())))
    gpu_pool.train_on_gpu_pool({"run_id": "r"}, Folders(home=Path("/d"), landing=landing), [])
    settings = {"parameters": {"run_id": "r"}, "job_variables": variables, "timeout": 0, "as_subflow": True}
    assert asked == [(gpu_pool.TRAINING_DEPLOYMENT, settings)]


def test_a_training_that_fails_on_the_pool_is_told(monkeypatch):
    monkeypatch.setattr(gpu_pool, "run_deployment", lambda *_, **__: FlowRun(id=TRAINING, flow_id=UUID(int=2)))
    monkeypatch.setattr(gpu_pool, "get_client", lambda **_: nullcontext(Server(Failed(message="no memory"))))
    with pytest.raises(UserError, match=r"training on the work pool 'gpu' ended as Failed\('no memory'\)"):
        gpu_pool.train_on_gpu_pool({}, Folders(home=Path("/d"), landing="/d/landing"), [])


def test_a_server_that_fails_cancels_no_training():
    server = Server(Running(), httpx.ReadTimeout("no answer"))
    with pytest.raises(httpx.ReadTimeout):
        wait(server, lambda: None)
    assert server.told == []


def test_unreachable_server_names_the_command_that_cancels(capsys):
    with pytest.raises(KeyboardInterrupt):
        wait(Server(Running(), is_gone=True), interrupt)
    assert f"prefect flow-run cancel {TRAINING} ends it" in " ".join(capsys.readouterr().err.split())


def test_pool_without_worker_is_reported_within_a_minute(capsys):
    server = Server(*[Pending()] * (3 * LOOKS_PER_CHECK), Completed())
    assert LOOKS_PER_CHECK * SECONDS_PER_LOOK < 60
    found = iter(["an online worker", "an online worker", None])
    assert wait(server, lambda: None, lambda: next(found)).is_completed()
    assert capsys.readouterr().err.count("training is waiting; missing: an online worker") == 2
    assert server.told == []


def test_a_pool_that_stays_without_a_worker_ends_the_wait():
    server = Server(*[Pending()] * (LOOKS_PER_CHECK * CHECKS_WITHOUT_WORKER))
    with pytest.raises(UserError, match="training cancelled after an hour; missing: an online worker"):
        wait(server, lambda: None, lambda: "an online worker")
    assert server.told == [(TRAINING, "Cancelling")]


def test_a_worker_that_comes_in_between_starts_the_hour_anew():
    lacking = ["an online worker"] * (CHECKS_WITHOUT_WORKER - 1)
    found = iter([*lacking, None, *lacking])
    server = Server(*[Pending()] * (LOOKS_PER_CHECK * (2 * CHECKS_WITHOUT_WORKER - 1)), Completed())
    assert wait(server, lambda: None, lambda: next(found)).is_completed()
    assert server.told == []


def online(*names):
    return [Worker(name=name, work_pool_id=UUID(int=3), status=WorkerStatus.ONLINE) for name in names]


def refusal_of(workers, plan="paper", pool_type="process", **job_variables):
    return lacks_of_pool(pool_type, job_variables, workers, training_needs(resolve_plan(plan), Limits()))


def test_both_paths_refuse_a_cpu_with_the_same_words():
    """The paper's trainings here, handed to a pool, and on the worker that takes them."""
    no_gpu = Machine(None, 23 * GIB)
    words = "plan paper cannot start; missing: a GPU with {} for the training paper, found only {} (no GPU, 23 GiB)"
    refusals = []
    for trains_here in (True, False):
        with pytest.raises(UserError) as refused:
            check_needs(
                resolve_plan("paper"),
                lambda needs: lacks_of_pool("process", {}, online("box-gpu (no GPU, 23 GiB)"), needs),
                trains_here=trains_here,
                find_machine=lambda: no_gpu,
                hub_url="http://127.0.0.1:9",
            )
        refusals.append(str(refused.value))
    with pytest.raises(UserError) as refused:
        check_machine(resolve_plan("paper"), Limits(), lambda: no_gpu)
    (need, *_) = training_needs(resolve_plan("paper"), Limits())
    memory = f"{(need.memory_bytes or 0) / GIB:.1f} GiB"  # of Qwen3-8B
    assert refusals[0].startswith(words.format(memory, "this machine"))
    assert refusals[1].startswith(words.format(memory, "the worker box-gpu"))
    assert str(refused.value) == words.format(memory, "this machine")


def test_worker_with_the_memory_takes_the_papers_training():
    assert refusal_of(online("box-gpu0 (NVIDIA H100 80GB HBM3, 79 GiB)")) is None
    assert refusal_of(online("box-gpu (no GPU, 23 GiB)", "far (NVIDIA A100-SXM4-80GB, 79 GiB)")) is None
    said = refusal_of(online("box-gpu0 (Tesla T4, 4 GiB)")) or ""
    assert said.endswith("found only the worker box-gpu0 (Tesla T4, 4 GiB)")


def test_worker_that_says_nothing_trains_small_models_only():
    silent = online("ProcessWorker 91161283")
    assert refusal_of(silent, "laptop") is None
    assert (refusal_of(silent) or "").endswith("where `carryover worker --pool gpu` starts it")


def test_pool_of_pods_has_the_devices_of_its_deployment():
    workers = online("KubernetesWorker 1")
    assert refusal_of(workers, pool_type="kubernetes", gpus=1) is None
    assert "found only pods of the kubernetes pool" in (refusal_of(workers, pool_type="kubernetes") or "")


def test_offline_workers_have_nothing():
    (worker,) = online("box-gpu0 (NVIDIA H100 80GB HBM3, 79 GiB)")
    offline = worker.model_copy(update={"status": WorkerStatus.OFFLINE})
    assert refusal_of([offline]) == "an online worker on the work pool 'gpu' (carryover worker --pool gpu)"


SERVER = "http://127.0.0.1:9/api"


def pool_of(monkeypatch, *, error=None, **facts):
    """Stand in for the Prefect server that holds the pool."""

    def read(name):
        def answer(asked):
            assert asked == (gpu_pool.TRAINING_DEPLOYMENT if name == "deployment" else "gpu")
            if error is not None:
                raise error
            return facts[name]

        return answer

    client = SimpleNamespace(
        read_deployment_by_name=read("deployment"),
        read_work_pool=read("pool"),
        read_workers_for_work_pool=read("workers"),
    )
    monkeypatch.setattr(gpu_pool, "get_client", lambda *, sync_client: nullcontext(client))


def test_the_pool_is_asked_for_its_workers(monkeypatch):
    deployment = SimpleNamespace(job_variables={"gpus": 1})
    pool_of(monkeypatch, deployment=deployment, pool=SimpleNamespace(type="kubernetes"), workers=online("pods"))
    needs = training_needs(resolve_plan("paper"), Limits())
    with temporary_settings({PREFECT_API_URL: SERVER}):
        assert gpu_pool.gpu_pool_lacks(needs) is None
        deployment.job_variables = None
        assert "found only pods of the kubernetes pool" in (gpu_pool.gpu_pool_lacks(needs) or "")
        assert gpu_pool.gpu_pool_lacks() is None


def test_what_is_missing_of_a_pool_is_named(monkeypatch):
    with temporary_settings({PREFECT_API_URL: None}):
        assert gpu_pool.gpu_pool_lacks() == "a Prefect server with a work pool 'gpu' (name it with PREFECT_API_URL)"
    with temporary_settings({PREFECT_API_URL: SERVER}):
        pool_of(monkeypatch, error=ObjectNotFound(KeyError("gpu")))
        deployment = "the deployment train-models/training on the Prefect server (make deploy)"
        assert gpu_pool.gpu_pool_lacks() == deployment
        pool_of(monkeypatch, error=httpx.ConnectError("refused"))
        assert gpu_pool.gpu_pool_lacks() == f"an answer from the Prefect server {SERVER} (refused)"
