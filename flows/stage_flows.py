"""Stages as flows, side-by-side tasks, and clean stops."""

import logging
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

from prefect import Flow
from prefect.exceptions import TerminationSignal
from prefect.futures import PrefectFuture, as_completed, wait

from carryover.flows.cli.messages import report_errors, say
from carryover.flows.prefect_flow import flow
from carryover.tasks.collect import collect_episodes, is_collected, note_episodes
from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.plans.presets import DEFAULT_PLAN, PlanName
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits, Run
from carryover.tasks.plans.shards import ShardSpec
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.limits import interrupt
from carryover.tasks.stages.caching import in_run
from carryover.tasks.stages.runs import join_run, start_run
from carryover.tasks.stages.side_by_side import AT_ONCE
from carryover.tasks.stages.spending import close_meter

Planned = TypeVar("Planned", bound="NamedTraining")
Trained = TypeVar("Trained")

TRAINING_THREADS = 1000
"""Threads that may wait for trainings: beyond every machine, so that `play_side_by_side` limits them alone."""
STOPPED = (KeyboardInterrupt, TerminationSignal)
"""Exceptions that Ctrl-C and SIGTERM raise in a flow."""
_ARGUMENTS = """Args:
    scale: Name of the plan; laptop by default. A run to join brings its own plan.
    overrides: Fields of the plan to change.
    limits: When to stop.
    run_id: Run to join, whose plan is played; a new run by default."""


class NamedTraining(Protocol):
    """A training that is told apart by its name."""

    @property
    def name(self) -> str:
        """Name of its stage."""
        ...


def stage_flow(
    shown_as: str, *, is_of_plans_source: bool = True, tasks_at_once: int = AT_ONCE
) -> Callable[[Callable[[Run], None]], Flow[..., None]]:
    """Decorate a stage as a flow that opens its run.

    With `is_of_plans_source` a run that the stage joins must be of the source that is here.
    """

    def decorate(play: Callable[[Run], None]) -> Flow[..., None]:
        def stage(
            scale: PlanName | None = None,
            overrides: Overrides = Overrides(),  # noqa: B008 - frozen
            limits: Limits = Limits(),  # noqa: B008 - frozen
            run_id: str | None = None,
        ) -> None:
            if run_id is None:
                opened = start_run(play.__name__, resolve_plan(scale or DEFAULT_PLAN, overrides), limits)
            elif scale is None and overrides == Overrides():
                opened = join_run(play.__name__, run_id, limits, is_of_plans_source=is_of_plans_source)
            else:
                raise UserError(f"run {run_id} has a plan already; leave scale and overrides out")
            with opened as run:
                play(run)

        # What Prefect shows of a flow; `functools.wraps` would show the parameters of `play` as well.
        stage.__module__ = play.__module__
        stage.__name__ = play.__name__
        stage.__qualname__ = play.__qualname__
        stage.__doc__ = f"{play.__doc__}\n\n{_ARGUMENTS}"
        return flow(shown_as, tasks_at_once)(stage)

    return decorate


def collect_shards(run: Run, shards: Sequence[ShardSpec]) -> None:
    """Collect several shards side by side and note reused episodes.

    Raise `UserError` where every episode ended with an error, or as `collect_episodes`.
    """
    played = []
    for shard in shards:
        contract = shard.condition.runtime_contract
        task = in_run(collect_episodes, run, shard.stage, is_there=is_collected(run, shard), contract=contract)
        played.append(task.submit(run, shard))
    with interruptible(run.run_id, played):
        wait(played)
    close_meter(run)
    collected = [future.result() for future in played]
    for shard in shards:
        note_episodes(run, shard)
    report_errors(collected)


def play_side_by_side(
    run: Run,
    planned: Sequence[Planned],
    at_once: int,
    submit: Callable[[Run, Planned], PrefectFuture[Trained]],
    note: Callable[[Run, Planned, Trained], None],
) -> None:
    """Submit planned trainings, `at_once` at a time, and note their results in order.

    Raise what the first failed one raised; the others under way go on to their end, since their models can be used.
    """
    submitted: list[PrefectFuture[Trained]] = []
    underway: dict[PrefectFuture[Trained], str] = {}
    with interruptible(run.run_id, submitted):
        for each in planned:
            if len(underway) == at_once:
                _await_one(underway)
            future = submit(run, each)
            submitted.append(future)
            underway[future] = each.name
        while underway:
            _await_one(underway)
        for each, future in zip(planned, submitted, strict=True):
            note(run, each, future.result())


def _await_one(underway: dict[PrefectFuture[Any], str]) -> None:
    """Wait until one of the named trainings ends, and drop it.

    Raise what it raised. A failure is said at once: Prefect shows an exception only when all have ended, hours later.
    """
    ended = next(as_completed(list(underway)))
    name = underway.pop(ended)
    if underway and (ended.state.is_failed() or ended.state.is_crashed()):
        going_on = ", ".join(underway.values())
        say(f"{name} failed; this run stops, and says why, once these have ended: {going_on}", logging.ERROR)
    ended.result()


@contextmanager
def interruptible(run_id: str, tasks: Sequence[PrefectFuture[Any]]) -> Iterator[None]:
    """End tasks in order when Ctrl-C or SIGTERM stops the block.

    Otherwise the servers that the block stands in would end first, and every episode to come would fail at them. A
    second signal ends the process at once, which loses no more than a kill.
    """
    try:
        yield
    except STOPPED:
        interrupt(run_id)
        say("stopping: trainings stop now, running episodes finish first; press Ctrl-C again to stop all at once")
        handlers = {sent: signal.signal(sent, signal.SIG_DFL) for sent in (signal.SIGINT, signal.SIGTERM)}
        try:
            wait(list(tasks))
        finally:
            for sent, handler in handlers.items():
                signal.signal(sent, handler)
        raise
