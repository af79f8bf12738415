"""What `carryover doctor` says about a Prefect server, from the answers of one."""

import threading
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import prefect
import pytest
import yaml
from prefect.client.schemas.objects import DeploymentSchedule, FlowRun, WorkerStatus
from prefect.client.schemas.responses import DeploymentResponse
from prefect.client.schemas.schedules import CronSchedule
from prefect.client.schemas.sorting import FlowRunSort
from prefect.events.actions import SendNotification
from prefect.events.schemas.automations import Automation
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect.states import (
    AwaitingConcurrencySlot,
    AwaitingRetry,
    Cancelling,
    Completed,
    Crashed,
    Failed,
    Late,
    Pending,
    Running,
    Scheduled,
)

from carryover.flows.cli.machine.server_health import (
    SHOWN,
    Pool,
    RunLine,
    ServerState,
    clipped,
    describe_run,
    describe_server,
    read_state,
    server_lines,
)

ROOT = Path(__file__).parents[4]
NOW = datetime(2026, 1, 2, 12, 0, tzinfo=UTC)
URL = "http://127.0.0.1:4200/api"
STUDY, NIGHTLY = UUID(int=1), UUID(int=2)
BUSY = Pool("cpu", is_paused=False, workers=("box-cpu (no GPU, 23 GiB)",))


def make_run(state, deployment: UUID | None = STUDY, **fields):
    return FlowRun(name="laptop-2f3a", flow_id=UUID(int=9), state=state, deployment_id=deployment, **fields)


def deployed(name, **fields):
    return DeploymentResponse(name=name, flow_id=UUID(int=9), **fields)


def on_a_schedule(id, name, is_active=True, changed_at=None, **fields):
    schedule = DeploymentSchedule(schedule=CronSchedule(cron="0 3 * * *"), active=is_active, updated=changed_at)
    return deployed(name, id=id, schedules=[schedule], **fields)


def make_state(*runs, pools=(BUSY,), deployments=(), next_runs=None, automations=()):
    study = deployed("study", id=STUDY)
    return ServerState(
        asked_at=NOW,
        runs=runs,
        deployments={each.id: each for each in (study, *deployments)},
        next_runs=next_runs or {},
        pools={pool.name: pool for pool in pools},
        automations=automations,
    )


def hours_from_now(hours):
    return NOW + timedelta(hours=hours)


def scheduled(state, minutes_ago):
    due = NOW - timedelta(minutes=minutes_ago)
    return make_run(state, expected_start_time=due, work_pool_name="cpu")


class Server:
    """Answers as a Prefect server does about the runs that it is given."""

    def __init__(self, *runs, deployments=(), pools=None, automations=()):
        self.runs = runs
        self.automations = automations
        self.deployments = deployments
        self.pools = pools or {}

    def read_flow_runs(self, flow_run_filter, sort=None, limit=None):
        found = [run for run in self.runs if self._is_wanted(run, flow_run_filter)]
        if sort == FlowRunSort.EXPECTED_START_TIME_ASC:
            found.sort(key=lambda run: run.expected_start_time)
        if sort == FlowRunSort.END_TIME_DESC:
            found.sort(key=lambda run: run.end_time, reverse=True)
        return found[:limit]

    def read_deployments(self):
        return self.deployments

    def read_automations(self):
        return self.automations

    def read_work_pools(self):
        return [SimpleNamespace(name=name, is_paused=is_paused) for name, (is_paused, _) in self.pools.items()]

    def read_workers_for_work_pool(self, name):
        _, workers = self.pools[name]
        return workers

    @staticmethod
    def _is_wanted(run, wanted):
        due = wanted.expected_start_time
        at = run.expected_start_time or NOW
        rules = [run.state.type in wanted.state.type.any_]
        if wanted.deployment_id:
            rules.append(run.deployment_id in wanted.deployment_id.any_)
        if due and due.before_:
            rules.append(at <= due.before_)
        if due and due.after_:
            rules.append(at >= due.after_)
        if wanted.end_time:
            rules.append((run.end_time or NOW) >= wanted.end_time.after_)
        return all(rules)


def test_runs_of_a_server_are_active_due_or_failed_within_a_day():
    shown = [
        make_run(Running()),
        make_run(Pending()),
        make_run(Scheduled(), expected_start_time=hours_from_now(-2)),
        make_run(Scheduled(), expected_start_time=hours_from_now(-1)),
        make_run(Failed(), end_time=hours_from_now(-1)),
        make_run(Crashed(), end_time=hours_from_now(-23)),
    ]
    left_out = [
        make_run(Scheduled(), expected_start_time=hours_from_now(1)),
        make_run(Failed(), end_time=hours_from_now(-25)),
        make_run(Completed(), end_time=NOW),
    ]
    server: Any = Server(*left_out, *reversed(shown[2:]), *shown[:2])  # of the client, the methods above
    assert [run.id for run in read_state(server, NOW).runs] == [run.id for run in shown]


def test_next_run_is_the_first_future_one_of_an_active_schedule():
    manual, off = UUID(int=3), UUID(int=4)
    deployments = [
        on_a_schedule(NIGHTLY, "nightly-reevaluation"),
        on_a_schedule(STUDY, "study"),
        on_a_schedule(off, "off", is_active=False),
        deployed("manual", id=manual),
    ]
    runs = [make_run(Scheduled(), NIGHTLY, expected_start_time=hours_from_now(hours)) for hours in (-1, 39, 15)]
    server: Any = Server(*runs, make_run(Running(), NIGHTLY), deployments=deployments)
    state = read_state(server, NOW)
    assert state.next_runs == {NIGHTLY: hours_from_now(15), STUDY: None}
    assert {id: one.name for id, one in state.deployments.items()} == {one.id: one.name for one in deployments}


def test_a_pool_has_its_online_workers():
    workers = [
        SimpleNamespace(name="here", status=WorkerStatus.ONLINE),
        SimpleNamespace(name="gone", status=WorkerStatus.OFFLINE),
    ]
    server: Any = Server(pools={"cpu": (False, workers), "gpu": (True, [])})
    assert read_state(server, NOW).pools == {
        "cpu": Pool("cpu", is_paused=False, workers=("here",)),
        "gpu": Pool("gpu", is_paused=True, workers=()),
    }


@pytest.mark.parametrize(
    ("run", "kind", "why"),
    [
        (make_run(Running(), start_time=NOW - timedelta(minutes=14)), "running", "for 14 min"),
        (make_run(Cancelling(), start_time=NOW - timedelta(minutes=74)), "running", "for 1 h 14 min, Cancelling"),
        (make_run(Pending()), "waiting", "its worker starts it"),
        (make_run(Pending(name="Submitting")), "waiting", "its worker starts it"),
        (make_run(Pending(name="Queued")), "waiting", "Queued"),
        (scheduled(AwaitingRetry(), -90), "waiting", "tries again at 13:30"),
        (scheduled(Scheduled(), 0), "waiting", "due now"),
        (scheduled(AwaitingConcurrencySlot(), 30), "waiting", "the run before it is running"),
        (scheduled(Late(), 30), "late", "due 11:30; the workers of the pool cpu take no more runs"),
        (scheduled(Scheduled(), 30), "late", "due 11:30; the workers of the pool cpu take no more runs"),
        (make_run(Failed(message="no\nkey"), end_time=NOW), "failed", "12:00 no key"),
        (make_run(Crashed(message="No heartbeat"), end_time=NOW), "failed", "12:00 No heartbeat"),
    ],
)
def test_run_is_told_with_its_reason(run, kind, why):
    assert describe_run(run, make_state(run)) == RunLine(kind, "laptop-2f3a (study)", why)


@pytest.mark.parametrize(
    ("pool", "why"),
    [
        (BUSY._replace(workers=()), "no online worker on the work pool cpu"),
        (BUSY._replace(is_paused=True), "the work pool cpu is paused"),
        (Pool("gpu", is_paused=False, workers=()), "it has no work pool"),
    ],
)
def test_late_run_names_what_its_pool_lacks(pool, why):
    run = scheduled(Late(), 30)
    line = describe_run(run, make_state(run, pools=[pool]))
    assert line is not None
    assert line.why == f"due 11:30; {why}"


def test_stage_of_a_shown_study_has_no_line():
    stage = make_run(Running(), None, parent_task_run_id=UUID(int=5))
    assert describe_run(stage, make_state(stage)) is None
    handed_over = make_run(Running(), parent_task_run_id=UUID(int=5), start_time=NOW)  # to the pool gpu
    assert describe_run(handed_over, make_state(handed_over)) is not None
    by_hand = make_run(Running(), None, start_time=NOW)
    assert describe_run(by_hand, make_state(by_hand)) == RunLine("running", "laptop-2f3a", "for 0 min")


NAME = "nightly-reevaluation"
NO_RUN = "NO future run; see the server's log for errors of its scheduler"
JUST_CHANGED = "just changed; the server plans its runs within a minute"


def changed_before(seconds, **fields):
    return on_a_schedule(NIGHTLY, NAME, changed_at=NOW - timedelta(seconds=seconds), **fields)


@pytest.mark.parametrize(
    ("declared", "at", "told"),
    [
        (on_a_schedule(NIGHTLY, NAME), hours_from_now(15), "next run 2026-01-03 03:00 UTC"),
        (on_a_schedule(NIGHTLY, NAME), None, NO_RUN),
        (changed_before(seconds=119), None, JUST_CHANGED),
        (changed_before(seconds=120), None, NO_RUN),
        (changed_before(seconds=1), hours_from_now(15), "next run 2026-01-03 03:00 UTC"),
        (changed_before(seconds=1, paused=True), None, "paused"),
        (on_a_schedule(NIGHTLY, NAME, paused=True), None, "paused"),
        (on_a_schedule(NIGHTLY, NAME, is_active=False), None, "off"),
    ],
)
def test_schedule_is_told_with_its_next_run_or_why_there_is_none(declared, at, told):
    (line,) = describe_server(URL, make_state(deployments=[declared], next_runs={NIGHTLY: at}))[2:]
    assert line == f"schedule of nightly-reevaluation: {told}"


@pytest.fixture
def silent_alerts():
    """The automations of `deployments/`, declared while their block is missing."""
    declared = yaml.safe_load((ROOT / "deployments" / "automations.yaml").read_text())["automations"]
    automations = []
    for each in declared:
        actions = [{"type": "do-nothing"} if "block" in action else action for action in each["actions"]]
        automations.append(Automation.model_validate({**each, "id": UUID(int=7), "actions": actions}))
    return automations


def test_alerts_that_notify_nobody_are_told_with_their_block(silent_alerts):
    of_others = silent_alerts[0].model_copy(update={"name": "mine"})
    server: Any = Server(automations=[*silent_alerts, of_others])
    (line,) = describe_server(URL, read_state(server, NOW))[2:]
    assert line == "alerts notify nobody (2): create the block carryover-alerts, then `make deploy`"
    assert len(line) <= 80
    told = SendNotification(block_document_id=UUID(int=8), subject="worse", body="")
    notifying = silent_alerts[0].model_copy(update={"actions": [told]})
    assert describe_server(URL, make_state(automations=[notifying]))[2:] == []


def test_a_server_is_told_from_runs_to_schedules():
    runs = [
        make_run(Failed(), None),
        make_run(Running(), None, parent_task_run_id=UUID(int=5)),  # a stage of a study
        make_run(Running(), start_time=NOW - timedelta(minutes=60)),
        make_run(Running()),
        make_run(Pending(), None),
        scheduled(Scheduled(), 1),
        scheduled(Scheduled(), 2),
    ]
    pools = (BUSY._replace(workers=("a", "b")), Pool("gpu", is_paused=True, workers=()))
    changed = on_a_schedule(UUID(int=4), "monthly", changed_at=NOW)
    deployments = [on_a_schedule(NIGHTLY, NAME), changed, on_a_schedule(UUID(int=3), "weekly")]
    state = make_state(*runs, pools=pools, deployments=deployments, next_runs={NIGHTLY: NOW})
    assert describe_server(URL, state) == [
        "Prefect http://127.0.0.1:4200: 2 running, 2 waiting, 1 late, 1 failed",
        "  running laptop-2f3a (study): for 1 h 0 min",
        "  running laptop-2f3a (study): for 0 min",
        "  waiting laptop-2f3a: its worker starts it",
        "  waiting laptop-2f3a (study): due now",
        "  late    laptop-2f3a (study): due 11:58; the workers of the pool cpu take no more runs",
        "  failed  laptop-2f3a:  no message",
        "work pool gpu: no online worker, paused",
        "work pool cpu: a, b",
        "schedule of weekly: NO future run; see the server's log for errors of its scheduler",
        "schedule of monthly: just changed; the server plans its runs within a minute",
        "schedule of nightly-reevaluation: next run 2026-01-02 12:00 UTC",
    ]
    empty = describe_server(URL, make_state(pools=()))
    assert empty[1:] == ["no work pool: `make deploy` makes them"]


def test_as_many_runs_are_read_as_the_server_gives_at_once():
    states = [state() for state in (Running, Scheduled, Failed) for _ in range(201)]
    server: Any = Server(*[make_run(state, end_time=NOW, expected_start_time=NOW) for state in states])
    assert len(read_state(server, NOW).runs) == 3 * 200


def test_a_line_is_cut_only_where_it_is_wider():
    assert (clipped("12345", 5), clipped("123456", 5)) == ("12345", "1234…")


def test_busy_server_fits_a_screen(silent_alerts):
    runs = []
    for _ in range(30):
        runs.append(make_run(Running(), start_time=NOW))
        runs.append(make_run(Pending()))
        runs.append(scheduled(Late(), 30))
        runs.append(make_run(Failed(message="plan paper cannot start; missing: " * 9), end_time=NOW))
    pools = [Pool(f"cpu-{number}", is_paused=number == 8, workers=("box",) * (number != 5)) for number in range(9)]
    deployments = [on_a_schedule(UUID(int=number), f"nightly-{number}") for number in range(10, 40)]
    deployments.append(on_a_schedule(UUID(int=40), "weekly", is_active=False))
    next_runs = {each.id: hours_from_now(each.id.int) for each in deployments[:-2]}
    state = make_state(*runs, pools=pools, deployments=deployments, next_runs=next_runs, automations=silent_alerts)
    lines = describe_server(URL, state)
    assert lines[0] == "Prefect http://127.0.0.1:4200: 30 running, 30 waiting, 30 late, 30 failed"
    assert sum("laptop-2f3a" in line for line in lines) == sum(most - 1 for most in SHOWN.values())
    assert [line for line in lines if line.endswith("more")] == [
        "  running and 26 more",
        "  waiting and 29 more",
        "  late    and 28 more",
        "  failed  and 26 more",
        "work pools: and 7 more",
        "schedules: and 29 more",
    ]
    assert [line.split(":")[0] for line in lines[-7:]] == [
        "work pool cpu-5",
        "work pool cpu-8",
        "work pools",
        "schedule of nightly-39",
        "schedule of weekly",
        "schedules",
        "alerts notify nobody (2)",
    ]
    assert len(lines) == 23
    assert max(len(clipped(line, 80)) for line in lines) == 80


def test_runs_that_fit_are_all_told():
    runs = [make_run(Failed(), end_time=NOW) for _ in range(SHOWN["failed"])]
    lines = describe_server(URL, make_state(*runs))
    assert sum("laptop-2f3a" in line for line in lines) == len(runs)
    assert not any("more" in line for line in lines)


def test_without_a_server_nothing_is_said_and_a_silent_one_is_named():
    with temporary_settings(restore_defaults={PREFECT_API_URL}):
        assert server_lines(80) == []
    with temporary_settings({PREFECT_API_URL: "http://127.0.0.1:9/api"}):
        (line,) = server_lines(80)
    assert line.startswith("no answer from the Prefect server http://127.0.0.1:9/api")


class Healthy(BaseHTTPRequestHandler):
    """A server that is healthy and of this version, and knows nothing else."""

    def do_GET(self):
        answers = {"/api/health": "true", "/api/admin/version": f'"{prefect.__version__}"'}
        self._answer(answers.get(self.path))

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(None)

    def _answer(self, text):
        self.send_response(200 if text else 404)
        self.end_headers()
        self.wfile.write((text or "{}").encode())


def test_a_server_that_does_not_list_its_runs_is_named():
    with ThreadingHTTPServer(("127.0.0.1", 0), Healthy) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with temporary_settings({PREFECT_API_URL: f"http://127.0.0.1:{server.server_port}/api"}):
            (line,) = server_lines(80)
        server.shutdown()
    assert line.startswith(f"no answer from the Prefect server http://127.0.0.1:{server.server_port}/api (")
    assert "404" in line


class Idle(Healthy):
    """A healthy server without runs, deployments and pools."""

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer("[]")


def test_lines_fit_the_screen():
    with ThreadingHTTPServer(("127.0.0.1", 0), Idle) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with temporary_settings({PREFECT_API_URL: f"http://127.0.0.1:{server.server_port}/api"}):
            whole = server_lines(100)
            assert server_lines(40) == [clipped(line, 40) for line in whole]
        server.shutdown()
    assert whole[0].endswith(": 0 running, 0 waiting, 0 late, 0 failed")
    assert len(whole[0]) > 40
