"""Processes that read from a pipe: their start and end."""

import contextlib
import os
import shlex
import signal
import subprocess
from collections.abc import Sequence

from carryover.tasks.services.errors import UserError

END_SECONDS = 5


def split_command(command: str) -> list[str]:
    """Return a command's words, as a shell splits them.

    Raises:
        UserError: A quote is not closed.
    """
    try:
        return shlex.split(command)
    except ValueError as error:
        reason = str(error).lower()
        raise UserError(f"cannot split the command {command!r}: {reason}; quote it as for a shell") from error


def start_piped(words: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start a process with piped input and output, in a group of its own."""
    try:
        return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, start_new_session=True)
    except OSError as error:
        raise UserError(f"cannot start {words[0]!r}: {error.strerror}; name a command") from error


def end_piped(process: subprocess.Popen[bytes], *, spares_children: bool = False) -> None:
    """End a process by its input's end, else by force, and kill its group.

    Args:
        process: A process of `start_piped`.
        spares_children: Leave the children of a process that ends by itself.
    """
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(BrokenPipeError):
        process.stdin.close()
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        kill_group(process.pid)
        process.wait()
    if not spares_children:
        kill_group(process.pid)
    process.stdout.close()


def kill_group(group: int) -> None:
    """Kill a group by its first process's id: a launcher's child may outlive it."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def is_group_alive(group: int) -> bool:
    """Tell whether a group has a process left; the id of one without may become another's."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
