"""Starts the sandbox side of a backend behind walls."""

import logging
import os
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from carryover.tasks.runtime.inside.framing import Channel, FrameError
from carryover.tasks.runtime.runtime_spec import RuntimeSpec, SandboxLevel
from carryover.tasks.runtime.sandbox import bubblewrap, starting
from carryover.tasks.services.errors import UserError

logger = logging.getLogger(__name__)

_SANDBOX_USER = 60_000
"""The user that a sandbox started by root becomes; its own processes need no more rights than to read libraries."""
_DESCRIPTOR_COUNT = 4096
"""Bounds what one process opens, and also the descriptors that a worker's episodes have under way to the host: each
live episode has one, the handle of the process that it forked ahead."""

_ENVIRONMENT = {
    "HOME": "/",
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "LD_BIND_NOW": "1",  # else every fork looks up what it calls first
    "MPLBACKEND": "agg",
    "PATH": "/usr/bin:/bin",
    "PYTHONHASHSEED": "0",
    "TZ": "UTC",
    # One thread per numeric library: a forked interpreter must not wait for threads that died in the fork.
    "JE_ARROW_MALLOC_CONF": "background_thread:false",  # pyarrow's allocator
    "_RJEM_MALLOC_CONF": "background_thread:false",  # Polars's
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "POLARS_MAX_THREADS": "2",
}
"""All that enters from outside: no variable of the host's, whose values may be keys."""


class SandboxStartError(UserError):
    """The sandbox side did not start."""


class SandboxProcess:
    """A started process with the channel that it serves."""

    def __init__(self, process: subprocess.Popen[bytes], connection: socket.socket, errors: starting.Errors) -> None:
        self.process = process
        self.errors = errors
        self.connection = connection
        self.channel = Channel(connection)

    def wait_until_ready(self, seconds: float) -> None:
        """Wait for its first message, or raise `TimeoutError`."""
        self.connection.settimeout(seconds)
        self.channel.receive()

    def close(self) -> None:
        """End the process; log the last words of a failed one."""
        self.channel.close()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        words = self.errors.last_line()
        self.errors.close()
        if self.process.returncode and words:
            logger.warning("a process of the sandbox has failed with the words: %s", ascii(words))


def launch(
    entry: str,
    spec: RuntimeSpec,
    level: SandboxLevel,
    *,
    extra: Mapping[str, Any] | None = None,
    descriptors: tuple[int, ...] = (),
) -> SandboxProcess:
    """Start the `main` of `inside.<entry>` at a sandbox level.

    It is told the settings, `extra` ones included, and gets copies of the `descriptors`.
    """
    ours, theirs = socket.socketpair()
    errors = starting.Errors()
    with theirs:
        process = subprocess.Popen(
            _command(entry, level, theirs.fileno()),
            pass_fds=[theirs.fileno()],
            env=_ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stderr=errors.descriptor,
            cwd="/",
            # What has a session of its own is also scheduled apart, and on a busy machine each message then waits for
            # its turn. So there is one only where a terminal could be reached: bubblewrap shows none, a root has its
            # output elsewhere before it runs a block, and the filter forbids to type into one that is reached yet.
            start_new_session=level != "bwrap+seccomp",
            process_group=0 if level == "bwrap+seccomp" else None,
        )
    started = SandboxProcess(process, ours, errors)
    try:
        started.channel.send({**settings(spec, level), **(extra or {})}, descriptors)
        starting.wait_patiently(started.wait_until_ready, TimeoutError, f"the sandbox at level {level}")
    except (EOFError, FrameError, OSError) as error:
        reason = errors.last_line() or repr(error)
        process.kill()
        started.close()
        raise SandboxStartError(f"the sandbox did not start at level {level}: {reason}") from error
    ours.settimeout(None)
    return started


def settings(spec: RuntimeSpec, level: SandboxLevel) -> dict[str, Any]:
    """Return what the sandbox side must know before it runs anything."""
    packages = [str(path) for path in bubblewrap.package_directories()]
    return {
        "user": _SANDBOX_USER if os.geteuid() == 0 and level == "bwrap+seccomp" else None,
        "path": packages,
        "preload": list(spec.preload),
        "unshares": level != "none",
        "filters_calls": level != "none",
        "landlock": _landlock_paths() if level == "landlock+seccomp" else {},
        "scratch": [],
        "limits": {
            "RLIMIT_AS": spec.memory_limit_bytes,
            "RLIMIT_NPROC": spec.process_limit,
            "RLIMIT_FSIZE": max(spec.output_limit_bytes, spec.scratch_limit_bytes or 0),
            "RLIMIT_NOFILE": _DESCRIPTOR_COUNT,
            **dict.fromkeys(("RLIMIT_CORE", "RLIMIT_MEMLOCK", "RLIMIT_MSGQUEUE"), 0),
        },
    }


def _command(entry: str, level: SandboxLevel, descriptor: int) -> list[str]:
    # Isolated as by -I, but for the environment, which is ours and fixes the order of sets.
    root = bubblewrap.INSIDE_MOUNT if level == "bwrap+seccomp" else str(bubblewrap.INSIDE_DIRECTORY.parent)
    words = (
        f"import sys; sys.path.insert(0, {root!r})",
        "from inside import own_builtins; own_builtins.install()",
        f"from inside.{entry} import main; main({descriptor})",
    )
    command = [bubblewrap.INTERPRETER, "-s", "-P", "-S", "-B", "-c", "; ".join(words)]
    if level != "bwrap+seccomp":
        return command
    environment = []
    for name, value in _ENVIRONMENT.items():
        environment += ["--setenv", name, value]
    return [*bubblewrap.command(keeps_root=os.geteuid() == 0), *environment, *command]


def _landlock_paths() -> dict[str, list[str]]:
    """Return what a process may read or only list under Landlock.

    This project's packages are left out: Landlock can only allow, so a folder around them is allowed part by part.
    It allows what a link leads to, as from `lib64` to `lib`.
    """
    hidden = {path.parent.resolve() / path.name for path in bubblewrap.own_traces()}
    read = [bubblewrap.INSIDE_DIRECTORY, *map(Path, bubblewrap.SYSTEM_FILES)]
    listed = []
    waiting = [path.resolve() for path in bubblewrap.library_directories()]
    while waiting:
        path = waiting.pop()
        if path in hidden:
            continue
        led_to = os.path.realpath(path)
        if not any(other.is_relative_to(led_to) for other in hidden):
            read.append(path)
        elif not path.is_symlink():
            listed.append(path)  # Python's import looks for its modules there
            waiting += path.iterdir()
    return {"read": [str(path) for path in read], "listed": [str(path) for path in listed]}
