"""Ends of an episode: reasons, and faults of the runtime."""

from collections.abc import Mapping

from carryover.tasks.agent.events import Event
from carryover.tasks.agent.protocol import ContextOverflowError
from carryover.tasks.runtime.engine import StateLostError
from carryover.tasks.runtime.sandbox.launch import SandboxStartError
from carryover.tasks.traces.vocabulary import FinishReason

RUNTIME_FAULTS = (OSError, EOFError, SandboxStartError, StateLostError)
"""Errors of a runtime out of processes, files or memory: they end an episode, and neither worker nor caller."""


class Stopped(Exception):  # noqa: N818 - an end is no error
    """The episode is over; `values` fill the speaker's text for the reason."""

    def __init__(self, reason: FinishReason, *, last_event: Event | None = None, **values: object) -> None:
        super().__init__(reason)
        self.reason = reason
        self.values: Mapping[str, object] = values
        self.last_event = last_event
        """Event of the failed request, still to be recorded."""


def stop_of_model_error(error: Exception, last_event: Event | None = None) -> Stopped:
    """Return the end that a request without a reply is."""
    if isinstance(error, TimeoutError):
        return Stopped(FinishReason.TIMEOUT, last_event=last_event)
    if isinstance(error, ContextOverflowError):
        return Stopped(FinishReason.CONTEXT_LENGTH, last_event=last_event, error=error)
    return Stopped(FinishReason.ERROR, last_event=last_event, error=error)


def stop_of_runtime_fault(error: BaseException) -> Stopped:
    """Return the end that a failing runtime is."""
    return Stopped(FinishReason.ERROR, error=f"the runtime failed: {type(error).__name__}: {error}")
