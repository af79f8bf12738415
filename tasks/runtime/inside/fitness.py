"""Checks that a process can continue after a block."""

import _signal  # pyright: ignore[reportMissingImports] - what `signal` adds is enumerations
import _thread
import builtins
import os
import resource
from mmap import MAP_PRIVATE, mmap
from os import _exit, close, fork, waitpid  # references of our own: a block may rebind what a module holds
from os import open as open_file
from resource import getrlimit

_PRESENT = builtins.__dict__
_BUILTINS = dict(_PRESENT)
_BUILTIN_COUNT = len(_BUILTINS)
_SPARE_DESCRIPTORS = 16
_READ_ONLY = os.O_RDONLY
_SPARE_BYTES = 16 << 20
_LEAST = {
    resource.RLIMIT_CPU: 1,
    resource.RLIMIT_NOFILE: 128,
    resource.RLIMIT_NPROC: 4,
    resource.RLIMIT_STACK: 1 << 16,
}
"""Soft limits below these leave no room for the runtime itself."""


class Fitness:
    """Finds states that a process cannot continue with, for the host."""

    def __init__(self) -> None:
        self._fork_count = 0
        os.register_at_fork(after_in_parent=self._count_fork)

    def begin_block(self) -> None:
        """Forget the block before."""
        self._fork_count = 0
        self._lacked_builtins = False
        self._file_bytes = getrlimit(resource.RLIMIT_FSIZE)[0]

    def restore_builtins(self) -> None:
        """Put removed builtins back.

        Until then nothing that has a builtin's name can be called.
        """
        if _PRESENT.__len__() < _BUILTIN_COUNT:  # comparing all names would write to their pages, which a fork shares
            for name in _BUILTINS.keys() - _PRESENT.keys():
                _PRESENT[name] = _BUILTINS[name]
            self._lacked_builtins = True

    def problem(self) -> str | None:
        """Return the kind of obstacle to another block."""
        if _stop_timers():
            return "timer"
        if self._lacked_builtins:
            return "builtins"
        try:
            mmap(-1, _SPARE_BYTES, MAP_PRIVATE).close()  # a shared mapping is a file, which costs more
            return self._shortage()
        except (MemoryError, OSError):
            return "memory"

    def _shortage(self) -> str | None:
        for limit, least in _LEAST.items():
            if 0 <= getrlimit(limit)[0] < least:
                return "limits"
        if getrlimit(resource.RLIMIT_FSIZE)[0] != self._file_bytes:  # bounds what later blocks print
            return "limits"
        if not _has_descriptors():
            return "files"
        if (self._fork_count or _thread._count()) and not _can_fork():
            return "processes"
        return None

    def _count_fork(self) -> None:
        self._fork_count += 1


def _stop_timers() -> bool:
    """Disarm what raises signals later; return whether anything was armed."""
    was_armed = False
    while True:
        try:
            for timer in (_signal.ITIMER_REAL, _signal.ITIMER_VIRTUAL, _signal.ITIMER_PROF):
                was_armed = _signal.setitimer(timer, 0)[0] > 0 or was_armed
            return was_armed
        except BaseException:  # noqa: BLE001 - the handler of a signal that came before
            was_armed = True


def _has_descriptors() -> bool:
    try:
        lowest = open_file("/dev/null", _READ_ONLY)
    except OSError:
        return False
    close(lowest)
    return lowest < getrlimit(resource.RLIMIT_NOFILE)[0] - _SPARE_DESCRIPTORS


def _can_fork() -> bool:
    """Tell whether there is room for two more processes.

    The next frozen copy is made before the last one ends.
    """
    try:
        process = fork()
    except OSError:
        return False
    if process == 0:
        status = 1
        try:
            fork()
            status = 0
        finally:
            _exit(status)
    try:
        return waitpid(process, 0)[1] == 0
    except ChildProcessError:  # a block has the kernel collect what ends
        return True
