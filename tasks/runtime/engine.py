"""Interface of an interpreter's backend: where and how blocks run.

`Interpreter` holds what is equal for every backend; an `Engine` holds what is not.
"""

import builtins
import contextlib
import logging
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, Literal, NamedTuple

from carryover.tasks.runtime import notices
from carryover.tasks.runtime.inside.framing import FRAME_LIMIT_BYTES
from carryover.tasks.runtime.inside.namespace import NAMES_LIMIT
from carryover.tasks.runtime.inside.step import RESULT_LIMIT
from carryover.tasks.runtime.lifetime import Lifetime
from carryover.tasks.runtime.objects import (
    Binding,
    InjectionError,
    RetrievalError,
    SharedMemory,
    bind_value,
    read_value,
)
from carryover.tasks.runtime.output import Output
from carryover.tasks.runtime.process.node import Canaries, NodeGoneError, StateLostError
from carryover.tasks.runtime.results import Display
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.runtime.transfer import Fetched, check, fetch, send_binding
from carryover.tasks.services.text import encodable

logger = logging.getLogger(__name__)

_BUILTIN_NAMES = frozenset(dir(builtins))
_MARK_LIMIT = 1_000
"""Characters of a state hash or a canary."""

Dispatch = Callable[..., tuple[Any, ...]]
"""From tool, positional and keyword arguments, or a blob that holds these, to the reply for the sandbox.

It may raise `CallInterruptedError`. A reply `("object", Fetched)` goes through memory.
"""


class Block(NamedTuple):
    """A block on its way into the sandbox."""

    step: int
    """Counted from 1 over the episode."""
    seed: str
    """Hexadecimal seed of `random` and NumPy."""
    code: str


class Report(NamedTuple):
    """Report of a block by its process.

    The block runs in that process and can forge any field: names, hash and canary are its claims, and so is what the
    notices give as its own account.
    """

    result: str | None
    error_type: str | None
    error_text: str
    call: int | None
    """Number of the tool call whose error ended the block, counted from 1."""
    names: tuple[str, ...]
    state_hash: str | None
    notices: tuple[str, ...]
    canary: str
    """The word by which its namespace remembers this block; no other block has the same."""
    shown_count: int = 0
    """How many rich results wait to be read."""
    restored: tuple[str, ...] = ()
    """Names of tools that the block bound; the host compares them with the tools."""


class BlockKilledError(Exception):
    """The block's process ended before the block did."""

    def __init__(self, type_name: str, reason: str) -> None:
        super().__init__(f"{type_name}: {reason}")
        self.type_name = type_name


class BusyError(RuntimeError):
    """The interpreter runs a block, and does one thing at a time."""


class CallInterruptedError(Exception):
    """Ctrl-C stopped a tool, before its block gets the reply.

    The block must be interrupted first.
    """

    def __init__(self, frame: tuple[Any, ...]) -> None:
        super().__init__(frame)
        self.frame = frame
        """The reply."""


Recovery = Literal["complete", "without_threads", "incomplete", "lost"]
"""Recovery quality. Threads do not survive freezing, and libraries that wait for theirs would hang:
`incomplete` asks for a replay. `lost`: the backend begins with an empty namespace."""


class FrozenFiles(NamedTuple):
    """A scratch folder's files, where nothing else outlives a block."""

    files: Fetched

    def release(self) -> None:
        """Free nothing: they end with the last reference."""


class Engine(ABC):
    """One episode's processes; requests raise `StateLostError` once the state is lost."""

    def __init__(self, lifetime: Lifetime, spec: RuntimeSpec) -> None:
        self._lifetime = lifetime
        self.spec = spec
        self.installed: list[Binding] = []
        """In order."""
        self._output = Output()
        self._running: Any = None
        """The process that runs a block."""
        self._is_stopped = False
        self.forgets = lifetime.runs_in == "fresh"
        """Whether the engine itself has emptied a namespace, rather than a block."""

    @abstractmethod
    def canaries(self) -> Canaries:
        """Return the words that the next namespace and folder remember."""

    def execute(self, block: Block, answer: Dispatch) -> Report:
        """Run a block in the next namespace, or raise `BlockKilledError`.

        Its process may end before the block does.
        """
        try:
            process = self._next()
        finally:
            self._output.clear()
        self._running = process
        if self._is_stopped:
            self.stop()
        try:
            report = self._run(process, block, answer)
        except NodeGoneError as error:
            logger.info("block %d ended its process or its connection: %s", block.step, ascii(str(error)))
            reason = "the interpreter's process ended while the block ran (a crash, an exit or a kill)"
            raise BlockKilledError("InterpreterDied", reason) from error
        finally:
            self._running = None
        limit = self.spec.output_limit_bytes
        due = ()
        if os.fstat(self._output.descriptor).st_size >= limit:
            due = (notices.OUTPUT_FULL.format(limit=limit),)
        return report._replace(notices=report.notices + due)

    def stop(self) -> None:
        """End the running block and each that begins, from any thread."""
        self._is_stopped = True
        if self._running is not None:
            self._running.end()

    @abstractmethod
    def _next(self) -> Any:
        """Return the process whose turn it is."""

    @abstractmethod
    def _run(self, process: Any, block: Block, answer: Dispatch) -> Report:
        """Run a block until it reports, or raise `NodeGoneError`."""

    def ask(self, *message: Any) -> Any:
        """Return the answer to a message, by the process in turn."""
        return self._next().ask(*message)

    def output(self) -> str:
        """Return what the last block printed, also when it was killed."""
        return self._output.read(self.spec.output_limit_bytes)

    def keep_output(self, name: str) -> None:
        """Bind the last block's output to a name, before `finish`."""
        binding = bind_value(name, self.output(), is_user=True, limit_bytes=self.spec.object_limit_bytes)
        send_binding(self.ask, binding)

    @abstractmethod
    def finish(self, dropped: list[str] | None) -> None:
        """End the step: drop these names (None: all), prepare the next."""

    @abstractmethod
    def roll_back(self) -> Recovery:
        """Go back to the state before the killed step, if possible."""

    def keep(self, binding: Binding) -> None:
        """Remember what was installed, for a replay.

        A block that ran with such a value is named when its replay shows something else.
        """
        self.installed.append(binding)
        room = self.spec.object_limit_bytes
        seen: set[str] = set()
        for place, one in reversed([*enumerate(self.installed)]):
            if one.name in seen and isinstance(one.content, SharedMemory):
                room -= one.content.size
                if room < 0:
                    self.installed[place] = one._replace(content=None)
            seen.add(one.name)

    @abstractmethod
    def restart(self, installed: Sequence[Binding]) -> None:
        """Go back to an empty namespace in which this is installed."""

    @abstractmethod
    def install(self, *bindings: Binding) -> None:
        """Bind objects for all blocks to come, or raise `InjectionError`."""

    def fetch(self, name: str) -> Fetched:
        """Return a variable of the next block, or raise `RetrievalError`."""
        return self._fetch(name, ("fetch", name))

    def ask_of_variables(self, kind: Literal["types", "digests", "fingerprints"]) -> dict[str, str]:
        """Return each variable's type name or digest, by name.

        Raise `RetrievalError` for a malformed answer.
        """
        answer = self.ask((kind,), (), FRAME_LIMIT_BYTES)
        if type(answer) is dict and all(type(text) is str for text in chain(answer.keys(), answer.values())):
            return {encodable(name): encodable(text[:_MARK_LIMIT]) for name, text in answer.items()}
        raise RetrievalError(f"malformed answer to a question for the {kind} of variables")

    def due_notices(self) -> tuple[str, ...]:
        """Return the notices that are due, once."""
        return ()

    @property
    def has_folder(self) -> bool:
        """Whether blocks have a scratch folder."""
        return bool(self.spec.scratch_limit_bytes)

    def read_file(self, path: str) -> Fetched:
        """Return a scratch file's blob, or raise `RetrievalError`."""
        with self._folder():
            return self._fetch(path, ("read", path))

    def file_sizes(self) -> dict[str, int]:
        """Return each scratch file's size, or raise `RetrievalError`."""
        with self._folder():
            answer = self.ask(("files",), (), FRAME_LIMIT_BYTES)
        if type(answer) is dict and all(type(size) is int for size in answer.values()):
            return {encodable(name): size for name, size in answer.items()}
        raise RetrievalError("malformed answer to a question for files")

    def shown(self, step: int) -> tuple[Display, ...]:
        """Return the block's rich results, before `finish`.

        Empty if they do not travel.
        """
        try:
            fetched = self._fetch("rich results", ("shown",))
            check("rich results", fetched, self.spec)
            found = read_value("rich results", fetched.memory.view(), {}, fetched.libraries)
        except RetrievalError as error:
            logger.info("rich results of a block are left out: %s", ascii(str(error)))
            return ()
        if type(found) is list:
            return tuple(Display(step, data) for data in found if _is_rich(data))
        return ()

    def pack_files(self) -> FrozenFiles | None:
        """Return all files where they alone outlive a block; None otherwise."""
        if not self.has_folder or not self._lifetime.keeps_files or self._lifetime.runs_in == "live":
            return None
        return FrozenFiles(fetch(self._ask_keeper, "the scratch folder", self.spec.object_limit_bytes, ("pack",)))

    def unpack_files(self, packed: FrozenFiles | None) -> None:
        """Make the scratch folder what was packed; raise `InjectionError` if that fails."""
        if packed is not None:
            memory = packed.files.memory
            problem = self._ask_keeper(("unpack", memory.size), (memory.descriptor,))
            if problem is not None:
                raise InjectionError(f"the scratch folder: {problem!s:.1000}")

    def _ask_keeper(self, *message: Any) -> Any:
        """Return the answer of the process that keeps files.

        It is another one where nothing else outlives a block.
        """
        return self.ask(*message)

    def _folder(self) -> contextlib.AbstractContextManager[None]:
        """Return the time in which the scratch folder is this state's own."""
        return contextlib.nullcontext()

    def _fetch(self, name: str, message: tuple[Any, ...]) -> Fetched:
        try:
            return fetch(self.ask, name, self.spec.object_limit_bytes, message)
        except StateLostError as error:
            raise RetrievalError(f"{name}: the interpreter ended while it was read") from error

    @abstractmethod
    def freeze(self) -> Any:
        """Return a frozen copy of the state, or None.

        None if this backend can only replay.
        """

    @abstractmethod
    def thaw(self, frozen: Any) -> Recovery:
        """Go on from a frozen copy."""

    @abstractmethod
    def branch(self) -> tuple["Engine", Recovery]:
        """Return a second engine in the same state.

        A fork takes along what it can.
        """

    @abstractmethod
    def close(self) -> None:
        """End all processes."""


def parse_report(message: Any) -> Report:
    """Return a message's report, or raise `NodeGoneError`.

    The message may hold anything.
    """
    match message:
        case {
            "result": str() | None as result,
            "error": [str(), str()] | None as error,
            "call": int() | None as call,
            "names": list(names),
            "hash": str() | None as state_hash,
            "canary": str(canary),
            "hiding": list(hiding),
            "restored": list(restored),
            "is_excessive": bool(is_excessive),
            "shown": int(shown_count),
        } if _are_names(names, hiding, restored) and max(len(state_hash or ""), len(canary)) <= _MARK_LIMIT:
            error_type, error_text = error or (None, "")
            return Report(
                result=None if result is None else encodable(result[:RESULT_LIMIT]),
                error_type=None if error_type is None else encodable(error_type),
                error_text=encodable(error_text),
                call=call,
                names=tuple(encodable(name) for name in names),
                state_hash=state_hash,
                notices=_notices_of(result, hiding, is_excessive=is_excessive),
                canary=canary,
                restored=tuple(restored),
                shown_count=shown_count,
            )
    raise NodeGoneError(f"not a report: {message!r:.200}")


def _is_rich(data: Any) -> bool:
    """Tell whether a block's data is text or bytes by MIME type."""
    if type(data) is not dict:
        return False
    return all(type(kind) is str and type(content) in (str, bytes) for kind, content in data.items())


def _are_names(names: list[Any], hiding: list[Any], restored: list[Any]) -> bool:
    """Tell whether these lists of a report hold what they may."""
    if not all(type(name) is str for name in (*names, *hiding, *restored)):
        return False
    return _BUILTIN_NAMES.issuperset(hiding) and sum(map(len, names)) <= NAMES_LIMIT


def _notices_of(result: str | None, hiding: list[str], *, is_excessive: bool) -> tuple[str, ...]:
    due = []
    if result is not None and len(result) > RESULT_LIMIT:
        due.append(notices.VALUE_CUT.format(shown=RESULT_LIMIT))
    if hiding:
        due.append(notices.HIDING_DROPPED.format(names=", ".join(hiding)))
    if is_excessive:
        due.append(notices.NAMES_DROPPED.format(limit=NAMES_LIMIT))
    return tuple(due)
