"""Runs a server so that it never outlives its starter.

`python supervisor.py GRACE_SECONDS COMMAND ...`

The starter holds the other end of this process's standard input. When that pipe ends - closed on purpose, or by the
kernel because the starter died, by whatever signal - the server's whole process group is stopped. Only the standard
library is imported, so the file runs before any package is looked for.
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading


def supervise(command: list[str], grace_seconds: float) -> int:
    """Run the command until it or standard input ends; return its status.

    A command that outlives standard input gets SIGTERM, and SIGKILL after `grace_seconds`.
    """

    def die_with_supervisor() -> None:
        # The supervisor itself may be killed; it starts the server from its main thread, whose end the kernel watches.
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG

    server = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        process_group=0,
        preexec_fn=die_with_supervisor,  # noqa: PLW1509 - this process has no other thread yet
    )

    def stop_when_starter_leaves() -> None:
        while os.read(sys.stdin.fileno(), 1024):
            pass
        _stop_group(server.pid, grace_seconds)

    for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(name, lambda *_: _stop_group(server.pid, grace_seconds))
    threading.Thread(target=stop_when_starter_leaves, daemon=True).start()
    status = server.wait()
    _signal_group(server.pid, signal.SIGKILL)
    if status >= 0:
        return status
    return 128 - status


def _stop_group(group: int, grace_seconds: float) -> None:
    _signal_group(group, signal.SIGTERM)
    timer = threading.Timer(grace_seconds, _signal_group, (group, signal.SIGKILL))
    timer.daemon = True
    timer.start()


def _signal_group(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, number)


if __name__ == "__main__":
    try:
        sys.exit(supervise(sys.argv[2:], grace_seconds=float(sys.argv[1])))
    except OSError as error:
        sys.exit(f"{sys.argv[2]} cannot be started: {error}")
