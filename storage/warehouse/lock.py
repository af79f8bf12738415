"""The merger's lock: one process writes a warehouse; the error of a second one names it."""

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from carryover.storage.errors import WarehouseBusyError, WarehouseError


@contextmanager
def owned(warehouse_path: Path) -> Iterator[None]:
    """Own a warehouse file while the block runs; raise `WarehouseBusyError` naming the process that owns it already.

    The system frees the lock when its owner dies, however it dies.
    """
    path = lock_path(warehouse_path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a+", encoding="utf-8")
    except OSError as error:
        raise WarehouseError(
            f"cannot write {path}: {error.strerror}; choose another place for the warehouse"
        ) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = path.read_text("utf-8") or "another process"
            raise WarehouseBusyError(
                f"{warehouse_path} is being written by {holder}; wait for it, or stop it and try again"
            ) from error
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()} since {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC")
        file.flush()
        yield


def lock_path(warehouse_path: Path) -> Path:
    """Return where the lock file of a warehouse lies; it stays once a merger has begun."""
    return warehouse_path.with_name(warehouse_path.name + ".lock")
