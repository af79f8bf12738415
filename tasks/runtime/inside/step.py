"""The step runner of both backends, for equal values and tracebacks."""

import _signal  # pyright: ignore[reportMissingImports] - what `signal` adds is enumerations
import _sitebuiltins
import builtins
import json
import linecache
import sys
from io import StringIO, TextIOWrapper
from os import _exit, getpid, urandom  # references of our own: a block may rebind what a module holds
from types import CodeType
from typing import Any

from . import adapting
from .awaiting import Awaiting
from .capture import open_stream
from .compiling import compile_block, is_coroutine, with_newlines
from .error_text import STEP_FILE_PREFIX, describe_error
from .fitness import Fitness
from .folder import Folder
from .framing import Channel
from .namespace import drop_excess, hash_state, heal, user_values
from .references import References
from .seeding import Seeder
from .shared import Shared
from .showing import Showing
from .tools import StepTimeout, ToolError, ToolLine, make_stub

RESULT_LIMIT = 100_000
_CANARY_NAME = "__canary__"
_CANARY_BYTES = 16
LAST_VALUE = "_"
_SOURCES: dict[str, Any] = linecache.cache
_Module = type(sys)


class StepRunner:
    """A namespace and how blocks run in it."""

    def __init__(self, seeder: Seeder) -> None:
        self.line = ToolLine()
        self._main = _Module("__main__")
        self.namespace: dict[str, Any] = self._main.__dict__
        self.namespace.update(__builtins__=builtins, json=json)
        self.showing = Showing()
        builtins.__dict__["help"] = _sitebuiltins._Helper()  # after the list of names that no block may hide was made
        builtins.__dict__["display"] = self.showing.display
        adapting.show_with(self.showing.display)
        self.own: dict[str, Any] = {"__builtins__": builtins}
        """Names that are put back after every block."""
        self.line.types = self.own
        self.line.refer = References(self.line).refer
        self._pristine = dict(self.namespace)
        self.injected: set[str] = set()
        self._seeder = seeder
        self._features = 0
        """Flags of the future features that earlier blocks imported."""
        self._shown: Any = None
        """Value that the name `_` was bound to."""
        self.awaiting = Awaiting()
        self.folder = Folder()
        self.shared = Shared()
        self._is_running = False
        self._is_tidy = False
        self._fitness = Fitness()
        self._stream = open_stream()

    def add_tools(self, tools: dict[str, str | None], *, takes_objects: bool = False) -> None:
        """Bind a stub for every host-side tool, by name with its documentation."""
        for name, documentation in tools.items():
            stub = make_stub(self.line, name, documentation, takes_objects=takes_objects)
            self.own[name] = self.namespace[name] = self._pristine[name] = stub

    def inject(self, name: str, value: Any, *, is_own: bool) -> None:
        """Bind the host's objects.

        Functions and types are put back after every block, variables may change.
        """
        self.namespace[name] = self._pristine[name] = value
        self.injected.add(name)
        if is_own:
            self.own[name] = value
        else:
            self.own.pop(name, None)

    def forget(self, names: list[str] | None) -> None:
        """Remove names, or with none all that is not the runtime's own."""
        if names is None:
            self.namespace.clear()
            self.namespace.update(self._pristine)
            self._features = 0
            self._forget_nameless()
            return
        for name in names:
            self.namespace.pop(name, None)
        if LAST_VALUE in names:
            self._forget_nameless()

    def user_values(self) -> dict[str, Any]:
        """Return the user's names and values, without the runner's `_`."""
        values = user_values(self.namespace, self.own)
        if values.get(LAST_VALUE) is self._shown:
            values.pop(LAST_VALUE, None)
        return values

    def run(self, channel: Channel, step: int, seed: str, source: str) -> dict[str, Any] | str:
        """Run a block and return its report; no exception leaves.

        A process that cannot go on after the block returns only the kind of its problem.
        """
        self.tidy()
        self._is_tidy = False
        process = getpid()
        self.namespace.pop(_CANARY_NAME, None)
        self.folder.begin_block()
        self.showing.begin_block()
        self._seeder.reseed(seed)
        self._fitness.begin_block()
        self.line.open(channel, process)
        result: str | None = None
        error: BaseException | None = None
        try:
            result = self._execute(source, step)
        except BaseException as raised:  # noqa: BLE001 - whatever a block raises is an observation
            error = raised
        if getpid() == process:
            failure = self._show_figures()
            error = error or failure
        self._is_running = False
        if getpid() != process:
            _exit(0)  # a child that the block forked has run to the block's end: its parent reports
        try:  # noqa: SIM105 - `suppress` touches ten pages, which each fork copies
            TextIOWrapper.flush(self._stream)
        except BaseException:  # noqa: BLE001 - there is room for no more, or a block has closed or bent the stream
            pass
        self.line.close()
        canary = urandom(_CANARY_BYTES).hex()
        problem = self._fitness.problem() or self.folder.end_block(canary, is_mapped=self.shared.has_mappings())
        if problem is not None:
            return problem
        report = self._report(result, error)
        report["canary"] = self.namespace[_CANARY_NAME] = canary
        return report

    def canary(self) -> str | None:
        """Return the namespace's word of the last block, or None.

        A block can write anything there; an invalid word counts as none.
        """
        canary = self.namespace.get(_CANARY_NAME)
        if type(canary) is str and len(canary) == 2 * _CANARY_BYTES:
            return canary
        return None

    def tidy(self) -> None:
        """Restore output streams, interrupt handler and tools' lock.

        A process that is to run one block is forked from a tidy one.
        """
        if self._is_tidy:
            return
        self._is_tidy = True
        sys.stdout = sys.stderr = self._stream = open_stream()
        sys.modules["__main__"] = self._main
        _signal.signal(_signal.SIGINT, self._on_interrupt)
        self.line.renew()

    def _execute(self, source: str, step: int) -> str | None:
        filename = f"{STEP_FILE_PREFIX}{step}>"
        lines = StringIO(with_newlines(source)).readlines()  # for the tracebacks of this and later steps
        _SOURCES[filename] = (len(source), None, lines, filename)
        compiled = compile_block(source, filename, self._features)
        if compiled.features:  # what is not written to is not copied by a fork
            self._features = compiled.features
        self._is_running = True
        try:
            evaluate = self._evaluate_in_loop if compiled.awaits else self._evaluate
            for statements in compiled.statements:
                evaluate(statements)
            if compiled.value is None:
                return None
            return self._show(evaluate(compiled.value))
        finally:
            self._fitness.restore_builtins()
            self._is_running = False

    def _evaluate(self, code: CodeType) -> Any:
        return eval(code, self.namespace)

    def _evaluate_in_loop(self, code: CodeType) -> Any:
        """Evaluate a part of a block with `await`: each part may start tasks."""
        if is_coroutine(code):
            return self.awaiting.run(eval(code, self.namespace))
        value, stop = self.awaiting.run(self._evaluate_as_coroutine(code))
        if stop is not None:
            raise stop
        return value

    async def _evaluate_as_coroutine(self, code: CodeType) -> tuple[Any, StopIteration | None]:
        try:
            return eval(code, self.namespace), None
        except StopIteration as stop:  # a coroutine would turn it into a RuntimeError
            return None, stop

    def _show(self, value: Any) -> str | None:
        """Return a value's text, and bind it to `_` if free.

        A user may have a `_` of their own.
        """
        if value is None:
            return None
        if self.namespace.get(LAST_VALUE) is self._shown:
            self.namespace[LAST_VALUE] = self._shown = value
        text = str.__str__(repr(value))
        self.showing.add(value, text)
        return text

    def _show_figures(self) -> BaseException | None:
        """Show the block's open figures; return the error that prevents it."""
        self._is_running = True
        try:
            self.showing.finish_block()
        except BaseException as raised:  # noqa: BLE001 - the figure's own code, or an interrupt
            return raised
        return None

    def _forget_nameless(self) -> None:
        """Forget what lives on without a name of the user's."""
        self._shown = None
        self.awaiting.forget()

    def _report(self, result: str | None, error: BaseException | None) -> dict[str, Any]:
        hiding, restored = heal(self.namespace, self.own)
        values = self.user_values()
        excess = drop_excess(self.namespace, values)
        return {
            "result": None if result is None else result[: RESULT_LIMIT + 1],  # one more says that it is cut
            "error": describe_error(error) if error is not None else None,
            "call": _call_behind(error),
            "names": sorted(values.keys() - self.injected) if self.injected else list(values),
            "hash": hash_state(values),
            "hiding": hiding,
            "restored": restored,
            "is_excessive": excess > 0,
            "shown": len(self.showing.results),
        }

    def _on_interrupt(self, _signal: int, _frame: Any) -> None:
        if self.line.is_main_thread_calling:
            self.line.is_interrupt_pending = True
        elif self._is_running:
            self._is_running = False
            raise StepTimeout


def _call_behind(error: BaseException | None) -> int | None:
    """Return the tool call's number behind an error.

    An attribute of another exception means nothing.
    """
    if not issubclass(type(error), ToolError):
        return None
    call = vars(error).get("call")
    if type(call) is int:
        return call
    return None
