"""What a stage opens: a run of its own, or one that is there."""

import signal
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from prefect.exceptions import TerminationSignal

from carryover.flows import stage_flows
from carryover.flows.stage_flows import collect_shards, interruptible, play_side_by_side, stage_flow
from carryover.tasks.collect import Collected
from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.plans.presets import DEFAULT_PLAN
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.limits import InterruptedRunError, check_uninterrupted

LIMITS = Limits(max_tokens_total=7)


@pytest.fixture
def opened(monkeypatch):
    """Runs that stages open, in words."""
    told = []

    @contextmanager
    def start_run(name, plan, limits):
        told.append(("start", name, plan, limits))
        yield "a run"

    @contextmanager
    def join_run(name, run_id, limits, *, is_of_plans_source):
        told.append(("join", name, run_id, limits, is_of_plans_source))
        yield "a run"

    monkeypatch.setattr(stage_flows, "start_run", start_run)
    monkeypatch.setattr(stage_flows, "join_run", join_run)
    return told


def stage(played, **settings):
    def play(run) -> None:
        """Play."""
        played.append(run)

    return stage_flow("playing", **settings)(play)


def test_a_stage_starts_a_run_of_the_named_plan(opened):
    played = []
    flow = stage(played)
    flow.fn(limits=LIMITS)
    flow.fn(scale="smoke", overrides=Overrides(train_count=3))
    assert played == ["a run", "a run"]
    assert opened == [
        ("start", "play", resolve_plan(DEFAULT_PLAN), LIMITS),
        ("start", "play", resolve_plan("smoke", Overrides(train_count=3)), Limits()),
    ]
    assert flow.name == "play"
    assert str(flow.fn.__doc__).startswith("Play.")


@pytest.mark.parametrize(("settings", "is_of_plans_source"), [({}, True), ({"is_of_plans_source": False}, False)])
def test_a_stage_joins_a_run_of_its_plans_source(opened, settings, is_of_plans_source):
    stage([], **settings).fn(run_id="r", limits=LIMITS)
    assert opened == [("join", "play", "r", LIMITS, is_of_plans_source)]


@pytest.mark.parametrize("given", [{"scale": "smoke"}, {"overrides": Overrides(train_count=3)}])
def test_a_joined_run_has_a_plan_already(opened, given):
    with pytest.raises(UserError, match="run r has a plan already; leave scale and overrides out"):
        stage([]).fn(run_id="r", **given)
    assert opened == []


def shard(name, contract) -> Any:
    return SimpleNamespace(name=name, stage="evaluation", condition=SimpleNamespace(runtime_contract=contract))


def test_shards_play_together_before_one_is_noted(steps):
    shards = [shard("first", "persistent"), shard("second", "stateless")]
    run: Any = SimpleNamespace(run_id="r")
    counts = {"first": Collected(planned_count=2), "second": Collected(planned_count=3, error_count=1)}
    played = []

    def submit(_run, each):
        played.append(each.name)
        return SimpleNamespace(result=lambda: counts[each.name])

    calls = steps(
        stage_flows,
        is_collected=lambda run, each: each.name == "first",
        in_run=lambda *_, **__: SimpleNamespace(submit=submit),
        wait=None,
        close_meter=None,
        note_episodes=None,
        report_errors=None,
    )
    collect_shards(run, shards)
    task = stage_flows.collect_episodes
    names = [call[0] for call in calls]
    assert [call for call in calls if call[0] == "in_run"] == [
        ("in_run", task, run, "evaluation", {"is_there": True, "contract": "persistent"}),
        ("in_run", task, run, "evaluation", {"is_there": False, "contract": "stateless"}),
    ]
    assert played == ["first", "second"]
    assert len(calls[names.index("wait")][1]) == 2
    assert calls[names.index("wait") + 1 :] == [
        ("close_meter", run),
        ("note_episodes", run, shards[0]),
        ("note_episodes", run, shards[1]),
        ("report_errors", list(counts.values())),
    ]


class Training:
    """A future that ends once somebody waits for it."""

    def __init__(self, name, events, *, fails=""):
        self.name = name
        self.fails = fails
        self.events = events
        self._final_state = None
        self.state = SimpleNamespace(is_failed=lambda: fails == "failed", is_crashed=lambda: fails == "crashed")

    def add_done_callback(self, tell):
        self._final_state = "final"
        tell(self)

    def result(self):
        if f"end {self.name}" not in self.events:
            self.events.append(f"end {self.name}")
        if self.fails:
            raise UserError(f"training {self.name} failed")
        return f"model {self.name}"


def play_names(names, at_once, failing="", how="failed"):
    """Return what happens to trainings of these names, in order."""
    events = []

    def submit(run, planned) -> Any:
        events.append(f"start {planned.name}")
        return Training(planned.name, events, fails=how * (planned.name == failing))

    def note(run, planned, model):
        events.append(f"note {planned.name}: {model}")

    run: Any = SimpleNamespace(run_id="r")
    planned: Any = [SimpleNamespace(name=name) for name in names]
    try:
        play_side_by_side(run, planned, at_once, submit, note)
    except UserError as error:
        events.append(str(error))
    return events


@pytest.mark.parametrize(
    ("at_once", "begin"),
    [
        (1, ["start a", "end a", "start b", "end b", "start c", "end c"]),
        (3, ["start a", "start b", "start c"]),
        (9, ["start a", "start b", "start c"]),
    ],
)
def test_a_training_starts_once_fewer_are_underway(at_once, begin):
    *played, first, second, third = play_names("abc", at_once)
    assert played[: len(begin)] == begin
    assert sorted(played) == [f"{what} {name}" for what in ("end", "start") for name in "abc"]
    assert [first, second, third] == ["note a: model a", "note b: model b", "note c: model c"]


def test_no_training_starts_after_one_that_failed(capsys):
    assert play_names("abc", 1, failing="b") == ["start a", "end a", "start b", "end b", "training b failed"]
    assert capsys.readouterr().err == ""  # nothing goes on, so the exception is shown at once


@pytest.mark.parametrize(("at_once", "how"), [(2, "failed"), (3, "failed"), (3, "crashed")])
def test_a_failure_is_said_while_others_go_on(monkeypatch, capsys, at_once, how):
    monkeypatch.setattr(stage_flows, "as_completed", reversed)
    names = "ab"
    assert play_names(names, at_once, failing="b", how=how)[-1] == "training b failed"
    said = " ".join(capsys.readouterr().err.split())
    assert said == "b failed; this run stops, and says why, once these have ended: a"


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), TerminationSignal(signal.SIGTERM)])
def test_a_stop_interrupts_the_run_and_awaits_its_tasks(monkeypatch, capsys, stop):
    """A second signal ends the process at once while the tasks end; afterwards the handlers are those of before."""
    run_id = f"stopped by {type(stop).__name__}"
    tasks: Any = ("first", "second")
    before = [signal.getsignal(sent) for sent in (signal.SIGINT, signal.SIGTERM)]
    waited = []

    def wait(tasks):
        with pytest.raises(InterruptedRunError):
            check_uninterrupted(run_id)
        waited.append((tasks, [signal.getsignal(sent) for sent in (signal.SIGINT, signal.SIGTERM)]))

    monkeypatch.setattr(stage_flows, "wait", wait)
    with pytest.raises(type(stop)), interruptible(run_id, tasks):
        raise stop
    assert waited == [(["first", "second"], [signal.SIG_DFL, signal.SIG_DFL])]
    assert [signal.getsignal(sent) for sent in (signal.SIGINT, signal.SIGTERM)] == before
    assert "stopping: trainings stop now, running episodes finish first" in " ".join(capsys.readouterr().err.split())


def test_a_block_that_fails_otherwise_interrupts_nothing(monkeypatch):
    monkeypatch.setattr(stage_flows, "wait", lambda tasks: pytest.fail("waited"))
    with pytest.raises(ZeroDivisionError), interruptible("not stopped", ()):
        raise ZeroDivisionError
    check_uninterrupted("not stopped")
