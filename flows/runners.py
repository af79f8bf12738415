"""How flows run tasks side by side, and how Ctrl-C and SIGTERM stop them."""

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

from prefect.exceptions import TerminationSignal
from prefect.futures import PrefectFuture, wait
from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner

from carryover.flows.cli.messages import refuse_failure, say, say_errors
from carryover.tasks.caching import in_run
from carryover.tasks.collect import collect_episodes, is_collected, note_episodes
from carryover.tasks.plans.run import Run
from carryover.tasks.plans.shards import ShardSpec
from carryover.tasks.running.interruption import interrupt

STOPPED = (KeyboardInterrupt, TerminationSignal)
"""What Ctrl-C and SIGTERM raise in a flow."""


def two_at_a_time() -> TaskRunner[PrefectFuture[Any]]:
    """Return a task runner for two cores; its tasks wait for processes of their own, so threads are enough."""
    return cast(TaskRunner[PrefectFuture[Any]], ThreadPoolTaskRunner(max_workers=2))


def collect_shards(run: Run, shards: Sequence[ShardSpec]) -> None:
    """Collect the episodes of several shards side by side, and note which of them the plan shares with others.

    Raises:
        UserError: Every episode ended with an error, or as `collect_episodes`.
    """
    played = [
        in_run(
            collect_episodes,
            run,
            shard.stage,
            is_there=is_collected(run, shard),
            contract=shard.condition.runtime_contract,
        ).submit(run, shard)
        for shard in shards
    ]
    with interruptible(run.run_id, played):
        wait(played)
    collected = [future.result() for future in played]
    for shard in shards:
        note_episodes(run, shard)
    say_errors(collected)
    refuse_failure(collected)


@contextmanager
def interruptible(run_id: str, tasks: Sequence[PrefectFuture[Any]]) -> Iterator[None]:
    """Wait for tasks of a run in the block; where Ctrl-C or SIGTERM stops it, they end as at a limit before it does.

    Otherwise the servers that the block stands in would end first, and every episode to come would fail at them. A
    second signal ends the process at once, which loses no more than a kill.
    """
    try:
        yield
    except STOPPED:
        interrupt(run_id)
        say("stopping: trainings end now, episodes that run end first; Ctrl-C again ends all at once")
        handlers = {sent: signal.signal(sent, signal.SIG_DFL) for sent in (signal.SIGINT, signal.SIGTERM)}
        try:
            wait(list(tasks))
        finally:
            for sent, handler in handlers.items():
                signal.signal(sent, handler)
        raise
