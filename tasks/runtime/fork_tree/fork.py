"""Asking a process to fork."""

from collections.abc import Sequence

from carryover.tasks.runtime.process.node import ForkState, Node, NodeGoneError, open_connection, receive_handle


class Fork:
    """A process that another one was asked to fork: asked for early, taken when it is needed."""

    def __init__(
        self,
        parent: Node,
        *,
        is_sweep: bool = False,
        dropped: Sequence[str] | None = (),
        output: int | None = None,
    ) -> None:
        self._parent = parent
        self._channel, theirs = open_connection()
        descriptors = (theirs.fileno(),) if output is None else (theirs.fileno(), output)
        try:
            parent.send(("fork", is_sweep, dropped), descriptors)
        except NodeGoneError:
            self._channel.close()
            raise
        finally:
            theirs.close()

    def take(self) -> tuple[Node, ForkState]:
        """Wait for the process; return it with what its parent said of itself.

        Raises:
            NodeGoneError: The parent ended or did not answer as it should.
        """
        try:
            handle, state = receive_handle(self._parent.channel, self._parent.resume)
        except NodeGoneError:
            self._channel.close()
            raise
        return Node(self._channel, handle, self._parent.family), state

    def abandon(self) -> None:
        """Close the connection, which ends the process."""
        self._channel.close()
