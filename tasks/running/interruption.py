"""Interrupted runs: the waiting thread notifies the workers."""

from carryover.tasks.running.errors import UserError

_interrupted: set[str] = set()


class InterruptedRunError(UserError):
    """The run is interrupted: its work ends as it would at a limit, and the next start resumes."""


def interrupt(run_id: str) -> None:
    """Let the work of a run end, in every thread."""
    _interrupted.add(run_id)


def check_uninterrupted(run_id: str) -> None:
    """Raise `InterruptedRunError` if the run is interrupted."""
    if run_id in _interrupted:
        raise InterruptedRunError(f"run {run_id} is interrupted; progress is saved; run again to resume")
