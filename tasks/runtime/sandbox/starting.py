"""Waiting for a process's start, with its last words on failure."""

import logging
import os
from collections.abc import Callable

START_SECONDS = 600.0
"""Time for a process to start on a machine that is busy; one that fails to start ends, which is seen at once."""
PATIENCE_SECONDS = 10.0
"""Of this time; then a line says what is waited for."""
_WORDS_BYTES = 4096

logger = logging.getLogger(__name__)


def wait_patiently(wait: Callable[[float], object], expired: type[Exception], what: str) -> None:
    """Wait for as long as a start may take, and log it.

    `wait` takes seconds and raises `expired` once they have passed.
    """
    try:
        wait(PATIENCE_SECONDS)
    except expired:
        logger.warning("%s has not started for %g s; up to %g s are waited", what, PATIENCE_SECONDS, START_SECONDS)
        wait(START_SECONDS - PATIENCE_SECONDS)


class Errors:
    """A process's standard error, in a file.

    A pipe would stay open as long as any descendant lives.
    """

    def __init__(self) -> None:
        self.descriptor = os.memfd_create("errors", os.MFD_CLOEXEC)

    def last_line(self) -> str:
        """Return the last line that was written, nothing if there is none."""
        end = os.lseek(self.descriptor, 0, os.SEEK_END)
        words = os.pread(self.descriptor, _WORDS_BYTES, max(0, end - _WORDS_BYTES)).decode(errors="replace")
        return (words.strip().splitlines() or [""])[-1]

    def close(self) -> None:
        """Free it."""
        os.close(self.descriptor)
