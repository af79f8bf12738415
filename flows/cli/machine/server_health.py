"""The state of a Prefect server: its runs, pools, schedules and alerts."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from uuid import UUID

import httpx
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import (
    FlowRunFilter,
    FlowRunFilterDeploymentId,
    FlowRunFilterEndTime,
    FlowRunFilterExpectedStartTime,
    FlowRunFilterState,
    FlowRunFilterStateType,
)
from prefect.client.schemas.objects import FlowRun, State, StateType, WorkerStatus
from prefect.client.schemas.responses import DeploymentResponse
from prefect.client.schemas.sorting import FlowRunSort
from prefect.events.actions import DoNothing
from prefect.events.schemas.automations import Automation
from prefect.settings import PREFECT_API_URL

from carryover.flows.cli.machine.automations import ALERT_BLOCK, OURS
from carryover.flows.cli.machine.prefect_server import unavailable_server

FAILURES_SINCE = timedelta(days=1)
"""How long a failed run is shown."""
GRACE = timedelta(minutes=1)
"""How far behind its time a run that nobody has taken is waiting rather than late."""
PLANNING = timedelta(minutes=2)
"""How long after a schedule's change its runs may be missing: the server's scheduler plans them once a minute."""
SHOWN = {"running": 5, "waiting": 2, "late": 3, "failed": 5}
"""Most lines on the runs of a kind: with those on pools, schedules and alerts they fit a screen."""
SHOWN_POOLS = 3
SHOWN_SCHEDULES = 3
MOST_READ = 200
"""Runs of a kind that the API gives at once."""
_ENDED_BADLY = [StateType.FAILED, StateType.CRASHED]
_STARTED = [StateType.RUNNING, StateType.CANCELLING]
_ACTIVE = [*_STARTED, StateType.PENDING, StateType.PAUSED]


class Pool(NamedTuple):
    """A work pool and its online workers."""

    name: str
    is_paused: bool
    workers: tuple[str, ...]


class ServerState(NamedTuple):
    """Answers of a server at one time."""

    asked_at: datetime
    runs: Sequence[FlowRun]
    """Active and due ones, and those that failed lately, the latest first."""
    deployments: Mapping[UUID, DeploymentResponse]
    next_runs: Mapping[UUID, datetime | None]
    """When a scheduled deployment runs next, by its id."""
    pools: Mapping[str, Pool]
    automations: Sequence[Automation]


class RunLine(NamedTuple):
    """A run, its kind and why it is of this kind."""

    kind: str
    run: str
    why: str


def server_lines(width: int) -> list[str]:
    """Return lines on the configured server, those of its state at most `width` wide.

    None without a server.
    """
    url = PREFECT_API_URL.value()
    if url is None:
        return []
    if lack := unavailable_server():
        return [lack]
    try:
        with get_client(sync_client=True) as client:
            state = read_state(client, datetime.now(UTC))
    except httpx.HTTPError as error:
        return [f"no answer from the Prefect server {url} ({' '.join(str(error).split())})"]
    return [clipped(line, width) for line in describe_server(url, state)]


def read_state(client: SyncPrefectClient, now: datetime) -> ServerState:
    """Ask a server for its runs, schedules and pools."""
    due = FlowRunFilterExpectedStartTime.model_validate({"before_": now})
    active = client.read_flow_runs(flow_run_filter=_of_types(_ACTIVE), limit=MOST_READ)
    scheduled = client.read_flow_runs(
        flow_run_filter=_of_types([StateType.SCHEDULED]).model_copy(update={"expected_start_time": due}),
        sort=FlowRunSort.EXPECTED_START_TIME_ASC,
        limit=MOST_READ,
    )
    lately = FlowRunFilterEndTime.model_validate({"after_": now - FAILURES_SINCE})
    failed = client.read_flow_runs(
        flow_run_filter=_of_types(_ENDED_BADLY).model_copy(update={"end_time": lately}),
        sort=FlowRunSort.END_TIME_DESC,
        limit=MOST_READ,
    )
    deployments = {each.id: each for each in client.read_deployments()}
    is_scheduled = {each.id for each in deployments.values() if _has_active_schedule(each)}
    return ServerState(
        asked_at=now,
        runs=[*active, *scheduled, *failed],
        deployments=deployments,
        next_runs={deployment: _next_run(client, deployment, now) for deployment in is_scheduled},
        pools={
            pool.name: Pool(pool.name, pool.is_paused, _online(client, pool.name)) for pool in client.read_work_pools()
        },
        automations=client.read_automations(),
    )


def describe_server(url: str, state: ServerState) -> list[str]:
    """Return a server's headline, runs by kind, pools, schedules and alerts."""
    described = [describe_run(run, state) for run in state.runs]
    found = [line for line in described if line is not None]
    count_of = Counter(line.kind for line in found)
    counts = ", ".join(f"{count_of[kind]} {kind}" for kind in SHOWN)
    headline = f"Prefect {url.removesuffix('/api')}: {counts}"
    return [
        headline,
        *_run_lines(found),
        *_pool_lines(state.pools.values()),
        *_schedule_lines(state),
        *_alert_lines(state.automations),
    ]


def _run_lines(found: Sequence[RunLine]) -> list[str]:
    lines = []
    for kind, most in SHOWN.items():
        of_kind = [f"  {kind:<8}{line.run}: {line.why}" for line in found if line.kind == kind]
        lines += _first_lines(of_kind, most, f"  {kind:<8}")
    return lines


def _first_lines(lines: Sequence[str], most: int, whose: str) -> list[str]:
    """Return at most so many lines; the last of many counts the rest."""
    if len(lines) <= most:
        return list(lines)
    shown = most - 1
    return [*lines[:shown], f"{whose}and {len(lines) - shown} more"]


def describe_run(run: FlowRun, state: ServerState) -> RunLine | None:
    """Return a run's line; None for a stage of a study.

    The study has a line already.
    """
    deployment = None
    if run.deployment_id:
        deployment = state.deployments.get(run.deployment_id)
    if run.state is None or _is_stage(run, deployment):
        return None
    name = run.name if deployment is None else f"{run.name} ({deployment.name})"
    if run.state.type in _ENDED_BADLY:
        return RunLine("failed", name, f"{_at(run.end_time)} {' '.join((run.state.message or 'no message').split())}")
    if run.state.type in _STARTED:
        return RunLine("running", name, _how_long(run, run.state, state.asked_at))
    if _is_late(run, run.state, state.asked_at):
        return RunLine("late", name, f"due {_at(run.expected_start_time)}; {_why_late(run, state.pools)}")
    return RunLine("waiting", name, _why_waiting(run, run.state))


def clipped(line: str, width: int) -> str:
    """Return a line that is no wider than a screen."""
    if len(line) <= width:
        return line
    return line[: width - 1] + "…"


def _is_stage(run: FlowRun, deployment: DeploymentResponse | None) -> bool:
    return deployment is None and run.parent_task_run_id is not None


def _how_long(run: FlowRun, state: State, now: datetime) -> str:
    minutes = int((now - (run.start_time or now)).total_seconds() // 60)
    age = f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
    if state.name == "Running":
        return f"for {age}"
    return f"for {age}, {state.name}"


def _is_late(run: FlowRun, state: State, now: datetime) -> bool:
    """Tell whether nobody took a run in time.

    A server without its late-runs service marks none.
    """
    if state.type is not StateType.SCHEDULED or (state.name or "").startswith("Awaiting"):
        return False
    return state.name == "Late" or now - (run.expected_start_time or now) > GRACE


def _why_late(run: FlowRun, pools: Mapping[str, Pool]) -> str:
    pool = pools.get(run.work_pool_name or "")
    if pool is None:
        return "it has no work pool"
    if pool.is_paused:
        return f"the work pool {pool.name} is paused"
    if not pool.workers:
        return f"no online worker on the work pool {pool.name}"
    return f"the workers of the pool {pool.name} take no more runs"


def _why_waiting(run: FlowRun, state: State) -> str:
    match state.name:
        case "AwaitingConcurrencySlot":
            return "the run before it is running"
        case "AwaitingRetry":
            return f"tries again at {_at(run.expected_start_time)}"
        case "Scheduled":
            return "due now"
        case "Pending" | "Submitting":
            return "its worker starts it"
        case other:
            return other or "no state"


def _pool_lines(pools: Iterable[Pool]) -> list[str]:
    """Return the pools, first those that take no run."""
    told = []
    for pool in sorted(pools, key=_takes_runs):
        has = ", ".join(pool.workers) or "no online worker"
        told.append(f"work pool {pool.name}: {has}{', paused' if pool.is_paused else ''}")
    if not told:
        return ["no work pool: `make deploy` makes them"]
    return _first_lines(told, SHOWN_POOLS, "work pools: ")


def _takes_runs(pool: Pool) -> bool:
    return bool(pool.workers) and not pool.is_paused


def _schedule_lines(state: ServerState) -> list[str]:
    """Return the schedules: failing, just changed, off, then by time."""
    failing = []
    changed = []
    off = []
    coming = []
    for declared in state.deployments.values():
        line = f"schedule of {declared.name}: "
        at = state.next_runs.get(declared.id)
        if not declared.schedules:
            continue
        if declared.paused:
            off.append(f"{line}paused")
        elif not _has_active_schedule(declared):
            off.append(f"{line}off")
        elif at is not None:
            coming.append((at, f"{line}next run {at:%Y-%m-%d %H:%M} UTC"))
        elif _has_changed_lately(declared, state.asked_at):
            changed.append(f"{line}just changed; the server plans its runs within a minute")
        else:
            failing.append(f"{line}NO future run; see the server's log for errors of its scheduler")
    told = [*failing, *changed, *off, *(line for _, line in sorted(coming))]
    return _first_lines(told, SHOWN_SCHEDULES, "schedules: ")


def _has_changed_lately(deployment: DeploymentResponse, now: datetime) -> bool:
    changes = [schedule.updated for schedule in deployment.schedules if schedule.updated is not None]
    return any(now - change < PLANNING for change in changes)


def _has_active_schedule(deployment: DeploymentResponse) -> bool:
    return any(schedule.active for schedule in deployment.schedules)


def _alert_lines(automations: Iterable[Automation]) -> list[str]:
    """Return a line on the alerts that were declared while their block was missing."""
    silent = [each for each in automations if each.name.startswith(OURS) and _does_nothing(each)]
    if not silent:
        return []
    return [f"alerts notify nobody ({len(silent)}): create the block {ALERT_BLOCK}, then `make deploy`"]


def _does_nothing(automation: Automation) -> bool:
    return all(isinstance(action, DoNothing) for action in automation.actions)


def _of_types(types: list[StateType]) -> FlowRunFilter:
    return FlowRunFilter(state=FlowRunFilterState(type=FlowRunFilterStateType(any_=types)))


def _next_run(client: SyncPrefectClient, deployment: UUID, now: datetime) -> datetime | None:
    """Return when a deployment runs next; None if no run is scheduled."""
    wanted = _of_types([StateType.SCHEDULED]).model_copy(
        update={
            "deployment_id": FlowRunFilterDeploymentId(any_=[deployment]),
            "expected_start_time": FlowRunFilterExpectedStartTime.model_validate({"after_": now}),
        }
    )
    found = client.read_flow_runs(flow_run_filter=wanted, sort=FlowRunSort.EXPECTED_START_TIME_ASC, limit=1)
    if found:
        return found[0].expected_start_time
    return None


def _online(client: SyncPrefectClient, pool: str) -> tuple[str, ...]:
    workers = client.read_workers_for_work_pool(pool)
    return tuple(worker.name for worker in workers if worker.status is WorkerStatus.ONLINE)


def _at(time: datetime | None) -> str:
    if time is None:
        return ""
    return f"{time:%H:%M}"
