"""Scratch folders of episodes: mounted in the sandbox where it can mount, else folders of the host."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from typing import Any

from carryover.tasks.runtime.runtime_spec import RuntimeSpec, SandboxLevel
from carryover.tasks.runtime.sandbox.bubblewrap import scratch_mount


class ScratchFolders:
    """A worker's scratch folders; they end with the worker."""

    def __init__(self, spec: RuntimeSpec, level: SandboxLevel) -> None:
        self._limit_bytes = spec.scratch_limit_bytes or 0
        self._is_mounted = level == "bwrap+seccomp"
        self.base: list[str] = []
        """The host's folder that holds them, where they are not mounted."""
        if self._limit_bytes and not self._is_mounted:
            self.base = [tempfile.mkdtemp(prefix="scratch-")]

    @contextlib.contextmanager
    def processes(self) -> Iterator[tuple[int, ...]]:
        """Return a descriptor of `/proc`, by which a process of the sandbox says who its user is; if it mounts."""
        if not self._limit_bytes or not self._is_mounted:
            yield ()
            return
        descriptor = os.open("/proc", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield (descriptor,)
        finally:
            os.close(descriptor)

    def make(self, *, keeps: bool = True) -> dict[str, Any] | None:
        """Return what the sandbox side is told of an episode's new folder; None where there is none."""
        if not self._limit_bytes:
            return None
        path = None
        if self.base:
            path = tempfile.mkdtemp(dir=self.base[0])
        return {"path": path, "mount": scratch_mount(), "limit_bytes": self._limit_bytes, "keeps": keeps}

    def remove(self, folder: dict[str, Any] | None) -> None:
        """Remove a folder of the host's that was made."""
        if folder is not None and folder["path"] is not None:
            shutil.rmtree(folder["path"], ignore_errors=True)

    def close(self) -> None:
        """Remove the host's folders."""
        for base in self.base:
            shutil.rmtree(base, ignore_errors=True)
