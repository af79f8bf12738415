"""Scratch folders: mounted in the sandbox, else of the host."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from carryover.tasks.runtime.runtime_spec import RuntimeSpec, SandboxLevel
from carryover.tasks.runtime.sandbox.bubblewrap import scratch_mount


class ScratchFolder(NamedTuple):
    """An episode's folder; only the `ScratchFolders` that made it removes it."""

    path: str
    """Where a block finds it; a path of the host only if it is not mounted."""
    is_mounted: bool
    limit_bytes: int

    def settings(self, *, keeps: bool) -> dict[str, Any]:
        """Return the message about it to the sandbox side."""
        return {**self._asdict(), "keeps": keeps}


class ScratchFolders:
    """A worker's scratch folders; they end with the worker."""

    def __init__(self, spec: RuntimeSpec, level: SandboxLevel) -> None:
        self._limit_bytes = spec.scratch_limit_bytes or 0
        self._is_mounted = level == "bwrap+seccomp"
        self._base: Path | None = None
        """The host's folder that holds them, where they are not mounted."""
        if self._limit_bytes and not self._is_mounted:
            self._base = Path(tempfile.mkdtemp(prefix="scratch-")).resolve()

    @property
    def base(self) -> list[str]:
        """Host directories that the sandbox side may write to."""
        return [] if self._base is None else [str(self._base)]

    @contextlib.contextmanager
    def processes(self) -> Iterator[tuple[int, ...]]:
        """Return a descriptor of `/proc`, if the sandbox mounts.

        By it a process of the sandbox says who its user is.
        """
        if not self._limit_bytes or not self._is_mounted:
            yield ()
            return
        descriptor = os.open("/proc", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield (descriptor,)
        finally:
            os.close(descriptor)

    def make(self) -> ScratchFolder | None:
        """Return a new folder for an episode, or None."""
        if not self._limit_bytes:
            return None
        if self._base is None:
            return ScratchFolder(scratch_mount(), is_mounted=True, limit_bytes=self._limit_bytes)
        path = tempfile.mkdtemp(dir=self._base)
        return ScratchFolder(path, is_mounted=False, limit_bytes=self._limit_bytes)

    def remove(self, folder: ScratchFolder | None) -> None:
        """Remove a folder that was made here.

        Raises:
            ValueError: It is a host folder that does not lie directly in the worker's own; nothing is removed.
        """
        if folder is None or folder.is_mounted:
            return
        path = Path(folder.path)
        if self._base is None or path.parent != self._base or path.name in {"", ".", ".."}:
            raise ValueError(f"{path}: not a scratch folder of this worker, which has {self._base}; nothing is removed")
        shutil.rmtree(path, ignore_errors=True)

    def close(self) -> None:
        """Remove the host's folders."""
        if self._base is not None:
            shutil.rmtree(self._base, ignore_errors=True)
