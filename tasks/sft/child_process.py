"""A training in a child process, which ends with its starter."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from carryover.tasks.services.errors import UserError, name_write_remedy

POLL_SECONDS = 0.5
ROOM_BYTES = 1 << 20
"""A training that fails with less free space than this is reported as disk full."""
USER_ERROR_CODE = 2
"""Exit code for a user error, which the last line reports."""
LARGE_BLOCKS = {"MALLOC_MMAP_THRESHOLD_": str(4 << 20), "MALLOC_TRIM_THRESHOLD_": str(4 << 20)}
"""Blocks that glibc gives back once they are free, in bytes.

Batches differ in length, and a heap keeps room for each: SmolLM2-135M takes 18 GiB on a CPU without them and 11 with.
"""
_LAST_LINES = 5
"""Lines of output that a failure quotes."""


class KilledTrainingError(UserError):
    """A training's process was killed; the next resumes its checkpoint."""


class Child(NamedTuple):
    """A process that trains into a folder."""

    title: str
    """Subject of a failure, e.g. `training smoke of persistent`."""
    arguments: tuple[str, ...]
    """Arguments of Python."""
    printed: Path
    """File in the training's folder that the output is appended to."""
    environment: Mapping[str, str]
    ends_with_input: bool = False
    """Whether it ends by itself once its input does; it is killed otherwise."""


def training_environment(cpu_threads: int, variables: Mapping[str, str], gpus: Sequence[str]) -> dict[str, str]:
    """Return a training's environment: threads, GPUs, memory, and no reports.

    The caller's `variables` win over `LARGE_BLOCKS`.
    """
    own = {"OMP_NUM_THREADS": str(cpu_threads), "CUDA_VISIBLE_DEVICES": ",".join(gpus), "DO_NOT_TRACK": "1"}
    return {**LARGE_BLOCKS, **variables, **own}


def run_child(
    child: Child, look: Callable[[], None], check: Callable[[], None], poll_seconds: float = POLL_SECONDS
) -> None:
    """Run a training to its end, and call `check` and `look` meanwhile.

    The process ends when the caller is interrupted or `check` raises. Raise `KilledTrainingError` for a process that
    was killed, `UserError` for another failure, with its last words.
    """
    with child.printed.open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, *child.arguments],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=child.environment,
        )
        try:
            while process.poll() is None:
                check()
                time.sleep(poll_seconds)
                look()
        finally:
            if not child.ends_with_input:
                process.kill()
            process.communicate()
    look()
    if process.returncode:
        kind = KilledTrainingError if process.returncode == -signal.SIGKILL else UserError
        raise kind(describe_failure(child, process.returncode))


def describe_failure(child: Child, code: int) -> str:
    """Return a line on why a training's process ended."""
    printed = child.printed.read_text(encoding="utf-8", errors="replace")
    lines = [line for line in printed.splitlines() if line.strip()]
    if code == USER_ERROR_CODE and lines:
        return lines[-1]
    folder = child.printed.parent
    probe = folder / f"{child.printed.name}.unfinished"
    try:
        probe.write_bytes(bytes(ROOM_BYTES))  # on a full disk even what it said last is cut off
    except OSError as error:
        return f"cannot write {folder}: {error.strerror}; {name_write_remedy(error)} and start again"
    finally:
        probe.unlink(missing_ok=True)
    reason = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
    last = " | ".join(lines[-_LAST_LINES:]) or "no output"
    return f"{child.title} failed ({reason}): {last}; all of it is in {child.printed}"


def end_with_starter() -> None:
    """End this process with its standard input, whose other end its starter holds."""

    def wait() -> None:
        while os.read(sys.stdin.fileno(), 1024):
            pass
        os._exit(3)  # the starter is gone

    threading.Thread(target=wait, daemon=True).start()
