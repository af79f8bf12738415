"""The published copy of a warehouse: what readers open while the merger owns the live file."""

import os
import shutil
from pathlib import Path

from carryover.storage.errors import WarehouseError
from carryover.tasks.running.errors import name_write_remedy
from carryover.tasks.running.whole_files import written_whole


def published_path(warehouse_path: Path) -> Path:
    """Return where the published copy of a warehouse file lies: `study.duckdb` is read as `study.published.duckdb`."""
    return warehouse_path.with_name(f"{warehouse_path.stem}.published{warehouse_path.suffix}")


def is_published(warehouse_path: Path) -> bool:
    """Tell whether the published copy is one of the live file as it is; a copy bears its original's time."""
    copy = published_path(warehouse_path)
    return copy.exists() and _version(copy) == _version(warehouse_path)


def publish(warehouse_path: Path) -> Path:
    """Replace the published copy by the live file as it is, atomically, and return the copy's path.

    The caller owns the warehouse and has closed its connection. Readers of the former copy keep it until they close.

    Raises:
        WarehouseError: The copy cannot be written.
    """
    copy = published_path(warehouse_path)
    try:
        with written_whole(copy) as temporary:
            shutil.copyfile(warehouse_path, temporary)
            shutil.copystat(warehouse_path, temporary)
            with temporary.open("rb") as file:
                os.fsync(file.fileno())
    except OSError as error:
        remedy = name_write_remedy(error)
        raise WarehouseError(f"cannot publish {copy}: {error.strerror}; {remedy} and merge again") from error
    return copy


def _version(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_mtime_ns, status.st_size
