"""A worker's zygote, and the episodes that grow from it."""

import subprocess
import threading
from contextlib import closing, suppress
from typing import Any

from carryover.tasks.runtime.backend import Runtime
from carryover.tasks.runtime.fork_tree.fork_engine import ForkTreeEngine, Root
from carryover.tasks.runtime.lifetime import Lifetime
from carryover.tasks.runtime.process.node import Node, NodeGoneError, open_connection, receive_handle
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.runtime.sandbox.folders import ScratchFolders
from carryover.tasks.runtime.sandbox.launch import SandboxProcess, launch


class ForkTreeRuntime(Runtime):
    """A `Runtime` whose interpreters are forks of one clean process."""

    def __init__(self, spec: RuntimeSpec) -> None:
        super().__init__(spec)
        self.folders = ScratchFolders(spec, self.sandbox_level)
        self._zygote = self._launch()
        self._lock = threading.Lock()

    def open_engine(self, lifetime: Lifetime, tools: dict[str, str]) -> ForkTreeEngine:
        """Grow a root for an episode and start its first namespace."""
        return ForkTreeEngine(lifetime, self.spec, lambda output: self._open_root(tools, lifetime, output))

    def _launch(self) -> SandboxProcess:
        extra = {"scratch": self.folders.base}
        with self.folders.processes() as descriptors:
            return launch("zygote", self.spec, self.sandbox_level, extra=extra, descriptors=descriptors)

    def _open_root(self, tools: dict[str, str], lifetime: Lifetime, output: int) -> Root:
        """Open an episode's root, with a scratch folder if any."""
        folder = self.folders.make()
        settings = None if folder is None else folder.settings(keeps=lifetime.keeps_files)
        setup = {"tools": tools, "folder": settings}
        try:
            node = self._grow_root(setup, output)
        except BaseException:
            self.folders.remove(folder)
            raise
        return Root(node, lambda: self.folders.remove(folder))

    def _grow_root(self, setup: dict[str, Any], output: int) -> Node:
        """Fork a root from the zygote, or from a new one.

        The old one may have been killed, e.g. out of memory.
        """
        zygote = self._zygote
        try:
            return self._fork_root(zygote, setup, output)
        except (ConnectionError, NodeGoneError):
            with self._lock, suppress(subprocess.TimeoutExpired):
                if self._zygote is zygote:
                    zygote.process.wait(timeout=1)
                    zygote.close()
                    self._zygote = self._launch()
            if self._zygote is zygote:
                raise
            return self._fork_root(self._zygote, setup, output)

    def _fork_root(self, zygote: SandboxProcess, setup: dict[str, Any], output: int) -> Node:
        """Fork a root with these tools alone.

        What is injected later is bound in its turn.
        """
        channel, theirs = open_connection()
        try:
            with self._lock, closing(theirs):
                zygote.channel.send(setup, (theirs.fileno(), output))
            handle, _ = receive_handle(channel)
        except (ConnectionError, NodeGoneError):
            channel.close()
            raise
        return Node(channel, handle)

    def close(self) -> None:
        """End the zygote, and with it every episode that is still open."""
        self._zygote.close()
        self.folders.close()
