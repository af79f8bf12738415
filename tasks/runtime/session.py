"""A session for one's own agent: an interpreter and the worker behind it, opened and closed together."""

import contextlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, Self, cast

from tasks.runtime.describe import Injected
from tasks.runtime.interpreter import Interpreter
from tasks.runtime.open import open_runtime
from tasks.runtime.protocol import CONTRACTS, BlockResult, Contract, Difference, SandboxLevel
from tasks.runtime.spec import RuntimeSpec
from tasks.runtime.state import EpisodeSnapshot

Tools = Mapping[str, Callable[..., Any]] | Iterable[Callable[..., Any]]


def session(
    contract: str | Contract = "persistent",
    tools: Tools = (),
    *,
    spec: RuntimeSpec | None = None,
    seed: str = "",
    tool_call_cap: int | None = None,
) -> "Session":
    """Open a sandboxed Python session; use it in a `with` statement, or close it.

    Args:
        contract: `persistent`, `stateless`, or a `Contract` of one's own.
        tools: Functions that blocks call and this process runs, as a list or by name.
        spec: Backend, sandbox level and limits.
        seed: Seeds `random` and NumPy, together with the number of the block.
        tool_call_cap: Tool calls that a block may make; None for no cap.

    Raises:
        UnknownContractError: No contract has that name.
        ValueError: A tool has no name, or two have the same.
        SandboxUnavailableError: The machine does not reach the sandbox level that the spec asks for.
    """
    chosen = CONTRACTS[contract] if isinstance(contract, str) else contract
    named = _by_name(tools)
    with contextlib.ExitStack() as opened:
        runtime = open_runtime(spec or RuntimeSpec())
        opened.callback(runtime.close)
        interpreter = runtime.open_interpreter(chosen, named, instance_id=seed, tool_call_cap=tool_call_cap)
        return Session(interpreter, runtime.sandbox_level, opened.pop_all())


class Session:
    """A sandboxed Python that runs an agent's blocks."""

    def __init__(self, interpreter: Interpreter, sandbox_level: SandboxLevel, opened: contextlib.ExitStack) -> None:
        self.interpreter = interpreter
        self.sandbox_level: SandboxLevel = sandbox_level
        self._opened = opened
        self._opened.callback(interpreter.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        self.close()

    @property
    def injected(self) -> list[Injected]:
        """Injected objects with their descriptions for a prompt."""
        return self.interpreter.injected

    def run(self, code: str) -> BlockResult:
        """Run a block; whatever it does is in the result, and never raised."""
        return self.interpreter.run_block(code)

    def inject(
        self, name: str, value: Any, *, description: str = "", runs_in: Literal["host", "sandbox"] = "host"
    ) -> None:
        """Bind a variable, type or function for all blocks to come; raise `InjectionError` where it does not travel."""
        self.interpreter.inject(name, value, description=description, runs_in=runs_in)

    def retrieve(self, name: str) -> Any:
        """Return a variable as a native object; raise `RetrievalError` where there is none or it does not travel."""
        return self.interpreter.retrieve(name)

    def snapshot(self) -> EpisodeSnapshot:
        """Freeze the present state; the snapshot closes with the session at the latest."""
        snapshot = self.interpreter.snapshot()
        self._opened.callback(snapshot.close)
        return snapshot

    def restore(self, snapshot: EpisodeSnapshot) -> tuple[str, ...]:
        """Go on from a snapshot of this session; return what the model must be told."""
        return self.interpreter.restore(snapshot)

    def branch(self) -> "Session":
        """Return a second session that goes on from the present state; it closes with this one at the latest."""
        other = Session(self.interpreter.branch(), self.sandbox_level, contextlib.ExitStack())
        self._opened.callback(other.close)
        return other

    def save(self, path: Path | str) -> None:
        """Write a journal from which `reload` brings the state about again."""
        self.interpreter.save(Path(path))

    def reload(self, path: Path | str) -> tuple[Difference, ...]:
        """Run a saved session's blocks again and go on from there; return where they came out differently."""
        return self.interpreter.reload(Path(path))

    def close(self) -> None:
        """End every process of the session, its snapshots and branches included."""
        self._opened.close()


def _by_name(tools: Tools) -> Mapping[str, Callable[..., Any]]:
    if isinstance(tools, Mapping):
        return cast("Mapping[str, Callable[..., Any]]", tools)
    named: dict[str, Callable[..., Any]] = {}
    for function in tools:
        name = getattr(function, "__name__", "")
        if not name.isidentifier():
            raise ValueError(f"{function!r:.100} has no name to call it by; pass tools={{'name': function}}")
        if name in named:
            raise ValueError(f"two tools are named {name!r}; pass tools={{'name': function}}")
        named[name] = function
    return named
