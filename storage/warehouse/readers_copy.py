"""The readers' copy of a warehouse, while the merger owns the file."""

import os
import shutil
from pathlib import Path

from carryover.storage.errors import WarehouseError
from carryover.tasks.services.errors import name_write_remedy
from carryover.tasks.services.whole_files import written_whole


def readers_copy_path(warehouse_path: Path) -> Path:
    """Return the readers' copy's path: `study.readers.duckdb` of `study.duckdb`."""
    return warehouse_path.with_name(f"{warehouse_path.stem}.readers{warehouse_path.suffix}")


def has_current_copy(warehouse_path: Path) -> bool:
    """Tell whether the readers' copy is of the live file.

    A copy bears its original's time.
    """
    copy = readers_copy_path(warehouse_path)
    return copy.exists() and _version(copy) == _version(warehouse_path)


def copy_for_readers(warehouse_path: Path) -> None:
    """Replace the readers' copy by the live file as it is, atomically.

    The caller owns the warehouse and has closed its connection. Readers of the former copy keep it until they close.
    Raise `WarehouseError` where the copy cannot be written.
    """
    copy = readers_copy_path(warehouse_path)
    try:
        with written_whole(copy) as temporary:
            shutil.copy2(warehouse_path, temporary)
            with temporary.open("rb") as file:
                os.fsync(file.fileno())
    except OSError as error:
        remedy = name_write_remedy(error)
        raise WarehouseError(f"cannot write {copy}: {error.strerror}; {remedy} and merge again") from error


def _version(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_mtime_ns, status.st_size
