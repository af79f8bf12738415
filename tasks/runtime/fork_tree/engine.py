"""The fork tree behind the engine's protocol: messages to the process whose turn it is, and a watch over it."""

import os
import time
from collections.abc import Callable
from typing import Any

from tasks.runtime.engine import Answer, Block, BlockKilledError, ProtocolError, Report, StateLostError, parse_report
from tasks.runtime.fork_tree.memory import resident_bytes
from tasks.runtime.fork_tree.node import Node, NodeGoneError
from tasks.runtime.fork_tree.processes import FreshProcesses, LiveProcesses, Processes
from tasks.runtime.lifetime import Lifetime
from tasks.runtime.spec import RuntimeSpec

OpenRoot = Callable[[int], Node]
"""From the descriptor that takes a block's output to a new root."""

_DIED = "the interpreter's process ended while the block ran (a crash, an exit or a kill)"


class ForkTreeEngine:
    """An `Engine` whose namespaces are processes."""

    def __init__(self, lifetime: Lifetime, spec: RuntimeSpec, open_root: OpenRoot) -> None:
        self._lifetime = lifetime
        self._spec = spec
        self._open_root = open_root
        self._output = os.memfd_create("output", os.MFD_CLOEXEC)
        self._has_output = False
        try:
            self._root = open_root(self._output)
            self._processes = self._grow()
        except BaseException:
            os.close(self._output)
            raise

    def canary(self) -> int | None:
        """Return what the parent of the next namespace's process remembered when it forked."""
        self._next()
        return self._processes.canary

    def execute(self, block: Block, answer: Answer) -> Report:
        """Run a block; interrupt it at its time limit, and kill it if that does not help."""
        node = self._next()
        if self._has_output:
            os.ftruncate(self._output, 0)
            os.lseek(self._output, 0, os.SEEK_SET)
        self._has_output = True
        try:
            node.send(("run", *block))
            return self._attend(node, block.step, answer)
        except (NodeGoneError, ProtocolError) as error:
            raise BlockKilledError("InterpreterDied", _DIED) from error

    def output(self) -> str:
        """Return what was written to the block's descriptors 1 and 2."""
        return os.pread(self._output, self._spec.output_limit_bytes, 0).decode(errors="replace")

    def finish(self, dropped: list[str] | None) -> None:
        """End the step and fork ahead."""
        try:
            self._processes.finish(dropped)
        except NodeGoneError:
            return  # the next use of the processes finds out, and says so

    def roll_back(self) -> bool:
        """Go back to the frozen copy, or to an empty namespace if there is none."""
        try:
            return self._processes.roll_back()
        except NodeGoneError:
            self.restart()
            return False

    def restart(self) -> None:
        """Begin again with a new root."""
        self._processes.close()
        self._root.close()
        self._root = self._open_root(self._output)
        self._processes = self._grow()

    def drop(self, name: str) -> bool:
        """Remove a name from the live process; there is nothing to remove from a fresh one."""
        try:
            was_there = self._next().ask(("drop", [name])) == [name]
        except NodeGoneError as error:
            raise StateLostError(str(error)) from error
        if was_there:
            self.finish([])
        return was_there

    def close(self) -> None:
        """End every process of the episode."""
        self._processes.close()
        self._root.close()
        os.close(self._output)

    def _grow(self) -> Processes:
        return LiveProcesses(self._root) if self._lifetime.runs_in == "live" else FreshProcesses(self._root)

    def _next(self) -> Node:
        try:
            return self._processes.next()
        except NodeGoneError as error:
            raise StateLostError(str(error)) from error

    def _attend(self, node: Node, step: int, answer: Answer) -> Report:
        """Answer the block's tool calls until it reports."""
        deadline = node.channel.deadline = time.monotonic() + self._spec.block_timeout_seconds
        is_interrupted = False
        while True:
            message = node.receive()
            if message is None:
                self._watch_memory()
            if time.monotonic() > deadline:
                if is_interrupted:
                    raise BlockKilledError("StepTimeout", self._timeout_text("killed"))
                is_interrupted = True
                deadline = node.channel.deadline = time.monotonic() + self._spec.interrupt_grace_seconds
                node.interrupt()
            match message:
                case None:
                    continue
                case ["call", str(tool), list(arguments), dict(keywords)]:
                    node.send(answer(tool, arguments, keywords))
                case ["done", int(done), report] if done == step:
                    return self._explain_timeout(parse_report(report))
                case _:
                    raise ProtocolError(f"not a message of a running block: {message!r:.200}")

    def _watch_memory(self) -> None:
        """Kill a block whose episode holds more memory than it may."""
        limit = self._spec.episode_memory_limit_bytes
        used = resident_bytes(self._root.process_id())
        if used > limit:
            text = f"the episode holds {used >> 20} MiB, {limit >> 20} are allowed; the block was killed"
            raise BlockKilledError("MemoryLimitExceeded", text)

    def _explain_timeout(self, report: Report) -> Report:
        if report.error_type != "StepTimeout":
            return report
        head, _, _ = report.error_text.rpartition("StepTimeout")
        return report._replace(error_text=f"{head}StepTimeout: {self._timeout_text('interrupted')}")

    def _timeout_text(self, what: str) -> str:
        return f"the block ran longer than {self._spec.block_timeout_seconds:g} s and was {what}"
