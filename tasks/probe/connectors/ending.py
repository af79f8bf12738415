"""The end of a process that reads from a pipe."""

import contextlib
import subprocess

END_SECONDS = 5


def end_piped(process: subprocess.Popen[bytes]) -> None:
    """End a process: its input first, then, where that is not enough, itself."""
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(BrokenPipeError):
        process.stdin.close()
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()
