"""The server in one process of the tree, driven by its host."""

import _signal  # pyright: ignore[reportMissingImports] - what `signal` adds is enumerations
import contextlib
import functools
import sys
from _blake2 import blake2b  # hashlib would load OpenSSL into every interpreter
from collections.abc import Callable, Sequence
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

from .capture import empty_input, redirect_output, restore_output
from .folder import FolderError
from .framing import Channel
from .namespace import hash_state
from .seeding import Seeder
from .step import StepRunner
from .walls import confine

_COLLECTED_AT_ONCE = 8
_FORK_ATTEMPTS = 300
_FORK_PAUSE_SECONDS = 0.01
_ERROR_LIMIT = 1000
"""Characters of an error that is passed to the host."""
_TYPE_LIMIT = 100
_DIGESTS_LIMIT = 300
_FINGERPRINT_LIMIT_BYTES = 16 << 20


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
        self._outgoing: Any = None
        self._unbuilt: dict[str, Any] = {}
        """Injected values by name, decoded where they are used: a library may start threads then, which no fork has."""

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
            case _:
                self.channel.send(("answer", getattr(self, f"answer_{kind}")(*arguments)))
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

    def take_over(self, descriptor: int, outputs: tuple[int, ...] = ()) -> None:
        """Listen on another descriptor, as a process does that was just forked."""
        self.channel.replace(descriptor)
        self._children = []
        self.runner.awaiting.renew()
        if self.is_root:  # it becomes a process that runs blocks: injected values are built now
            self.is_root = False
            _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
            for name, build in self._unbuilt.items():
                self.runner.inject(name, build(self.runner.own), is_own=False)
            self._unbuilt = {}
        for output in outputs:
            redirect_output(output)

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

    def answer_drop(self, names: list[str] | None) -> int:
        """Remove names, or all of the user's; return their count."""
        count = len(self.runner.namespace)
        self.runner.forget(names)
        return count - len(self.runner.namespace)

    def answer_tool(self, name: str, documentation: str, takes_objects: bool = True) -> None:
        """Bind the stub of another tool."""
        self._unbuilt.pop(name, None)
        self.runner.add_tools({name: documentation}, takes_objects=takes_objects)

    def answer_define(self, name: str, source: str, imports: Sequence[Any] = ()) -> str | None:
        """Bind a function or type from source; return any problem."""
        from .values import injection

        try:
            defined = injection.define(name, source, imports, self.runner.own)
            self._unbuilt.pop(name, None)
            self.runner.inject(name, defined, is_own=True)
        except Exception as error:  # noqa: BLE001 - the host's caller is told, whatever the source does
            return f"{type(error).__name__}: {error}"[:_ERROR_LIMIT]

    def answer_refer(self, name: str, *standing: Any) -> None:
        """Bind what stands for a live object of the host's."""
        self._unbuilt.pop(name, None)
        *said, _allowed = standing
        self.runner.inject(name, self.runner.line.refer(*said), is_own=False)

    def answer_bind(self, name: str, is_user: bool, size: int, descriptor: int) -> str | None:
        """Bind a value from shared memory; return any error.

        In a root it is bound when the root is left.
        """
        from .values import transfer, tree

        try:
            blob = transfer.take(descriptor, size)
            build = functools.partial(tree.decode, blob, makes_records=False, refer=self.runner.line.refer)
            if is_user:
                self.runner.namespace[name] = build(self.runner.own)
            elif self.is_root:
                self._unbuilt.pop(name, None)  # a name that is bound anew before each block is built once, as the last
                self._unbuilt[name] = build
            else:
                self.runner.inject(name, build(self.runner.own), is_own=False)
        except Exception as error:  # noqa: BLE001 - the caller on the host is told, whatever it is
            return _reason(error)

    def answer_fetch(self, name: str) -> dict[str, Any]:
        """Send the size of a variable's blob.

        It waits until the host has made room for it.
        """
        if name not in self.runner.namespace:
            return {"missing": name}
        return self._offer(lambda: self.runner.namespace[name])

    def _offer(self, find: Callable[[], Any]) -> dict[str, Any]:
        from .values import tree as values

        self._outgoing = None
        try:
            self._outgoing = encoded = values.encode(find())
            return {"size": encoded.size, "libraries": encoded.libraries}
        except (values.NotPortableError, FolderError) as error:
            return {"error": f"{error}"[:_ERROR_LIMIT]}
        except Exception as error:  # noqa: BLE001 - the object's own code may raise anything
            return {"error": f"{type(error).__name__}: {error}"[:_ERROR_LIMIT]}

    def answer_fill(self, descriptor: int) -> str | None:
        """Write the waiting blob into shared memory; return the error, if any."""
        from .values import transfer

        try:
            transfer.fill(descriptor, self._outgoing)
        except OSError as error:
            return _reason(error)
        finally:
            close(descriptor)
            self._outgoing = None

    def answer_types(self) -> dict[str, str]:
        """Send each user variable's type name, without running its code."""
        values = self.runner.user_values()
        return {name: _type_name(type(value)) for name, value in values.items()}

    def answer_digests(self) -> dict[str, str]:
        """Send a digest of the first hundreds of variables."""
        values = self.runner.user_values()
        try:
            return {name: hash_state({name: values[name]}) for name in [*values][:_DIGESTS_LIMIT]}
        except (RuntimeError, IndexError, TypeError, MemoryError):  # a thread changes values meanwhile, or no room
            return {}

    def answer_fingerprints(self) -> dict[str, str]:
        """Send a digest of each variable's content, or its type.

        The type stands for what is large or has no form to travel in.
        """
        values = self.runner.user_values()
        return {name: _fingerprint(values[name]) for name in [*values][:_DIGESTS_LIMIT]}

    def answer_place(self, name: str, size: int, descriptor: int) -> str | None:
        """Put a file into the scratch folder; return any error."""
        from .values import transfer

        try:
            self.runner.folder.place(name, bytes(transfer.take(descriptor, size)[:size]))
        except (FolderError, OSError, MemoryError) as error:
            return _reason(error)

    def answer_read(self, name: str) -> dict[str, Any]:
        """Send the size of a file's blob.

        It waits until the host has made room for it.
        """
        return self._offer(lambda: self.runner.folder.get(name))

    def answer_shown(self) -> dict[str, Any]:
        """Send the size of the rich results' blob.

        It waits until the host has made room for it.
        """
        return self._offer(lambda: self.runner.showing.results)

    def answer_pack(self) -> dict[str, Any]:
        """Send the size of the blob of all files.

        It waits until the host has made room for it.
        """
        return self._offer(self.runner.folder.pack)

    def answer_unpack(self, size: int, descriptor: int) -> str | None:
        """Make the scratch folder what was packed; return the error, if any."""
        from .values import transfer, tree

        try:
            self.runner.folder.unpack(tree.decode(transfer.take(descriptor, size), {}))
        except Exception as error:  # noqa: BLE001 - the caller on the host is told, whatever it is
            return _reason(error)

    def answer_restore(self) -> str | None:
        """Restore the scratch folder from this process's notes; return any error."""
        try:
            if self.is_root:
                self._sweep()
            self.runner.folder.restore(is_mapped=self.runner.shared.has_mappings())
            self.runner.shared.seek()
        except OSError as error:
            return _reason(error)

    def answer_resume(self) -> dict[str, Any]:
        """Resume from a copy: put shared things back, report the rest."""
        return self.runner.shared.resume(self.runner.folder.inodes())

    def answer_clear(self) -> None:
        """Empty the scratch folder where it forgets."""
        self.runner.folder.forget()

    def answer_files(self) -> dict[str, int]:
        """Give the size of each file in the scratch folder."""
        return self.runner.folder.sizes()

    def answer_canaries(self) -> list[str | None]:
        """Say what the namespace and the scratch folder remember."""
        return [self.runner.canary(), self.runner.folder.canary()]

    def answer_output(self, descriptor: int) -> None:
        """Print to a file of the host's from now on."""
        redirect_output(descriptor)
        self.has_output = True

    def answer_setup(self, tools: dict[str, str | None], folder: dict[str, Any] | None, output: int) -> None:
        """Become an episode's, in a kernel that waited for one."""
        redirect_output(output)
        self.open_folder(folder)
        self.runner.add_tools(tools)


def _type_name(kind: type) -> str:
    """Return a type's name with its library, against metaclass tricks.

    The descriptors of `type` are read: a metaclass may bend both names.
    """
    name = type.__dict__["__name__"].__get__(kind)
    module = type.__dict__["__module__"].__get__(kind)
    library = ""
    if type(module) is str:
        library = module.partition(".")[0]
    return (name if library in ("", "builtins", "__main__") else f"{library}.{name}")[:_TYPE_LIMIT]


def _fingerprint(value: Any) -> str:
    from .values import tree

    kind = _type_name(type(value))
    try:
        encoded = tree.encode(value)
        if encoded.size > _FINGERPRINT_LIMIT_BYTES:
            return f"{kind} of {encoded.size} bytes"
        content = memoryview(bytearray(encoded.size))
        encoded.write(content)
    except Exception:  # noqa: BLE001 - it does not travel, or the object's own code fails
        return kind
    return f"{kind} {blake2b(content, digest_size=16).hexdigest()}"


def _reason(error: Exception) -> str:
    """Return why a value cannot be bound or read, and the remedy."""
    if isinstance(error, (MemoryError, OSError)):
        return f"no room for it in the interpreter ({error}); delete what is not needed, or raise memory_limit_bytes"
    return f"{error}"[:_ERROR_LIMIT]


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
