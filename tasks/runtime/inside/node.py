"""The server in one process of the tree: blocks and forks."""

import _signal  # pyright: ignore[reportMissingImports] - what `signal` adds is enumerations
import contextlib
import sys
from os import (  # references of our own: a block may rebind what a module holds
    WNOHANG,
    _exit,
    close,
    fork,
    getpid,
    kill,
    pidfd_open,
    set_blocking,
    waitpid,
)
from time import sleep
from traceback import format_exc
from typing import Any, NoReturn

from .answers import Answers, reason_of
from .capture import empty_input, redirect_output, restore_output
from .framing import Channel
from .seeding import Seeder
from .step import StepRunner
from .walls import confine

_COLLECTED_AT_ONCE = 8
_FORK_ATTEMPTS = 300
_FORGETTING_SECONDS = 0.0001
_FORK_PAUSE_SECONDS = 0.01


class Server:
    """The message loop of a process.

    The root of an episode never runs a block; it forks the processes that do, and sweeps away what they leave.
    """

    def __init__(self, channel: Channel, seeder: Seeder, *, is_root: bool = True) -> None:
        self.channel = channel
        self.is_root = is_root
        self.has_output = True
        """Whether descriptors 1 and 2 lead to the host: a block may close them for good."""
        self.runner = StepRunner(seeder)
        self._has_noted = False
        """Whether no block has run since what forks share was noted."""
        self._children: list[int] = []
        self._unclaimed: list[int] = []
        self._answers = Answers(self.runner, builds_late=is_root)

    def serve(self) -> None:
        """Answer the host's messages until it closes the connection."""
        try:
            while True:
                self.serve_one()
        except Exception:  # noqa: BLE001 - a block may have bent anything
            self.fail()

    def grow(self, channel: Channel, tools: dict[str, str | None], folder: dict[str, Any] | None) -> None:
        """Serve as an episode's root with tools and folder, without return."""
        _signal.signal(_signal.SIGCHLD, _signal.SIG_IGN)
        self.channel = channel
        self.runner.add_tools(tools)
        self.open_folder(folder)
        self.runner.folder.warm_up()
        self.runner.tidy()
        self.serve()

    def open_folder(self, settings: dict[str, Any] | None) -> None:
        """Use a scratch folder from now on, if there is one."""
        if settings is not None:
            self.runner.showing.is_watched = True
            self.runner.folder.open(settings["path"], settings["limit_bytes"], keeps=settings["keeps"])

    def fail(self) -> NoReturn:
        """End the process, leaving its host the traceback.

        No observation shows it.
        """
        try:
            self.channel.send(("failed", format_exc()))
        finally:
            _exit(1)

    def serve_one(self) -> bool:
        """Answer one message; tell whether anybody waited for it.

        End when the host has closed the connection.
        """
        try:
            message, descriptors = self.channel.receive_with_descriptors()
        except EOFError:
            _exit(0)
        except BlockingIOError:  # a block told its connection not to wait
            set_blocking(self.channel.fileno(), True)
            return False
        self._unclaimed += descriptors
        kind, *arguments = message
        if type(kind) is not str:  # the late reply to a call that was given up
            return False
        arguments += self._unclaimed
        self._unclaimed = []
        match kind:
            case "run":
                self.run(*arguments)
            case "fork":
                self.fork(*arguments)
            case "restore" | "output" | "setup":
                self.channel.send(("answer", getattr(self, kind)(*arguments)))
            case _:
                self.channel.send(("answer", getattr(self._answers, kind)(*arguments)))
        return True

    def run(self, step: int, seed: str, source: str) -> None:
        """Run a block and report."""
        self._has_noted = False
        report = self.runner.run(self.channel, step, seed, source)
        set_blocking(self.channel.fileno(), True)  # whatever the block told it
        self.channel.send(("done" if isinstance(report, dict) else "unfit", step, report))
        # before a message brings descriptors, which take the numbers of those that were closed
        self.has_output = restore_output()

    def fork(self, is_sweep: bool, dropped: list[str] | None, descriptor: int, *outputs: int) -> None:
        """Fork a process on `descriptor`; tell the host its handle.

        A branch gets an output of its own, as does a process that runs one block only.

        First the names that do not live on are dropped (none: all of them). A sweep also ends every process that the
        episode has left, so that nothing survives into the next block.
        """
        has_strays = is_sweep and not self._sweep()
        if is_sweep or not self.is_root:
            self.runner.folder.forget()
        if self.is_root:
            self.runner.folder.note()
        if self.is_root:  # it runs no block: it has nothing to put back, and its descriptors are the next process's
            empty_input()
            for output in outputs:
                redirect_output(output)
            outputs = ()
        else:
            self._make_ready(dropped, frozenset((self.channel.fileno(), descriptor, *outputs)))
        process = self._fork_process()
        if process == 0:
            if self.is_root:
                confine.set_capabilities()
            self.take_over(descriptor, outputs)
            return
        self._children.append(process)
        handle = pidfd_open(process)
        canaries = self.runner.canary(), self.runner.folder.canary()
        self.channel.send(("forked", canaries, has_strays, _thread_count(), self.has_output), (handle,))
        for used in (handle, descriptor, *outputs):
            close(used)

    def take_over(self, descriptor: int, outputs: tuple[int, ...] = ()) -> None:
        """Listen on another descriptor, as a process does that was just forked."""
        self.channel.replace(descriptor)
        self._children = []
        self.runner.awaiting.renew()
        if self.is_root:  # it becomes a process that runs blocks: injected values are built now
            self.is_root = False
            _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
            self.runner.folder.make_importable()
            self._answers.build()
        for output in outputs:
            redirect_output(output)

    def become_root(self) -> None:
        """Run no block from now on, as before `take_over`."""
        self.is_root = True
        self._answers.builds_late = True

    def restore(self) -> str | None:
        """Restore the scratch folder from this process's notes; return any error."""
        try:
            if self.is_root:
                self._sweep()
            moved = self.runner.folder.restore(is_mapped=self.runner.shared.has_mappings())
            self.runner.shared.put_back(moved)
        except OSError as error:
            return reason_of(error)

    def output(self, descriptor: int) -> None:
        """Print to a file of the host's from now on."""
        redirect_output(descriptor)
        self.has_output = True

    def setup(self, tools: dict[str, str | None], folder: dict[str, Any] | None, output: int) -> None:
        """Become an episode's, in a kernel that waited for one."""
        redirect_output(output)
        self.open_folder(folder)
        self.runner.folder.make_importable()
        self.runner.add_tools(tools)

    def _make_ready(self, dropped: list[str] | None, own: frozenset[int]) -> None:
        """Put back and note what a fork takes along.

        Descriptors of the runtime's own are left out.
        """
        self.runner.tidy()
        self.runner.forget(dropped)
        if not self._has_noted:  # a frozen process forks too: what it has noted is of its own moment
            self.runner.shared.note(own | self.runner.awaiting.descriptors())
            self._has_noted = True
        # The oldest few that have ended are collected, the others in a later turn: of a thousand, few have.
        oldest = self._children[:_COLLECTED_AT_ONCE]
        others = self._children[_COLLECTED_AT_ONCE:]
        self._children = [*others, *(process for process in oldest if not _has_ended(process))]

    def _sweep(self) -> bool:
        """End what is left of the last block; return whether nothing remains.

        The root ignores the end of its children, so the kernel collects them and waiting ends with there being none.
        """
        try:
            if getpid() == 1:  # the first process of a namespace: all the others are this episode's
                kill(-1, _signal.SIGKILL)
                waitpid(-1, 0)
            for process in self._children:
                with contextlib.suppress(ChildProcessError):
                    waitpid(process, 0)
            waitpid(-1, WNOHANG)
        except (ChildProcessError, ProcessLookupError):
            _wait_until_alone()
            return True
        finally:
            self._children = []
        return False

    def _fork_process(self) -> int:
        """Fork, waiting for room if needed.

        Processes that were just killed may still fill the episode's limit.
        """
        for _ in range(_FORK_ATTEMPTS):
            try:
                return fork()
            except BlockingIOError:
                sleep(_FORK_PAUSE_SECONDS)
        _exit(0)


def _wait_until_alone() -> None:
    """Wait until the kernel has forgotten the others of a namespace.

    No wait tells of them, but until then a block could read the limits of one that has ended.
    """
    if getpid() != 1:
        return
    with contextlib.suppress(ProcessLookupError):
        while True:
            kill(-1, 0)
            sleep(_FORGETTING_SECONDS)


def _has_ended(process: int) -> bool:
    try:
        return waitpid(process, WNOHANG)[0] != 0
    except ChildProcessError:
        return True


def _thread_count() -> int:
    """Return the threads that Python started and the first one."""
    threading = sys.modules.get("threading")
    if threading is None:
        return 1
    # What else there is, libraries started. Counted here: a block may have bent what `threading` counts by.
    return len(threading._active) + len(threading._limbo)
