"""Numbers of processes, counted anew before every fork of a root: none tells what earlier blocks forked."""

import os

from . import confine

_LAST_NUMBER = b"1"
"""The root's own, the first of its namespace."""


class Numbering:
    """Where a root tells the kernel which number it gave last: `/proc/sys/kernel/ns_last_pid`, opened by the host.

    Linux takes that from a process that may restore others (CAP_CHECKPOINT_RESTORE, since 5.9), about its own
    namespace only. A root has this one right, in a user namespace of its own; what it forks to run blocks has none.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def is_possible(self) -> bool:
        """Tell whether the kernel lets this process do it."""
        try:
            self.begin_anew()
        except OSError:
            return False
        return True

    def begin_anew(self) -> None:
        """Let the next process have the lowest number that is free."""
        os.pwrite(self._descriptor, _LAST_NUMBER, 0)

    def give_up(self) -> None:
        """Give up the right for good, as a process does before it runs a block."""
        os.close(self._descriptor)
        confine.keep_capabilities(())
