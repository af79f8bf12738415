"""The merger's lock: one process writes a warehouse; the error of a second one names it."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from carryover.storage.errors import WarehouseBusyError, WarehouseError
from carryover.tasks.running.file_lock import file_lock


@contextmanager
def owned(warehouse_path: Path) -> Iterator[None]:
    """Own a warehouse file while the block runs; raise `WarehouseBusyError` naming the process that owns it already."""
    path = lock_path(warehouse_path)
    with ExitStack() as stack:
        try:
            holder = stack.enter_context(file_lock(path))
        except OSError as error:
            raise WarehouseError(
                f"cannot write {path}: {error.strerror}; choose another place for the warehouse"
            ) from error
        if holder is not None:
            raise WarehouseBusyError(
                f"{warehouse_path} is being written by {holder}; wait for it, or stop it and try again"
            )
        yield


def lock_path(warehouse_path: Path) -> Path:
    """Return where the lock file of a warehouse lies; it stays once a merger has begun."""
    return warehouse_path.with_name(warehouse_path.name + ".lock")
