"""One episode's interpreter under one contract, the same for every backend."""

import contextlib
import functools
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from carryover.tasks.runtime.blocks import BlockRunner
from carryover.tasks.runtime.contract import Contract
from carryover.tasks.runtime.describe import Injected
from carryover.tasks.runtime.engine import BusyError, Engine, StateLostError
from carryover.tasks.runtime.exclusive import ExclusiveUse
from carryover.tasks.runtime.gate import By, Prepared, RunsIn
from carryover.tasks.runtime.identity import Identity
from carryover.tasks.runtime.injecting import Injector
from carryover.tasks.runtime.journal import Journal, changed_variables
from carryover.tasks.runtime.lifetime import lifetime_of
from carryover.tasks.runtime.objects import Binding, RetrievalError, bind_file
from carryover.tasks.runtime.results import BlockResult, Difference, Display, RuntimeEvent
from carryover.tasks.runtime.runtime_spec import RuntimeSpec, SandboxLevel
from carryover.tasks.runtime.state import EpisodeSnapshot, EpisodeState, Progress
from carryover.tasks.runtime.surroundings import describe_surroundings
from carryover.tasks.runtime.tools import ToolTable


class Interpreter(contextlib.AbstractContextManager["Interpreter"]):
    """Runs an episode's blocks under a contract's lifetime policy."""

    def __init__(
        self,
        contract: Contract,
        tools: ToolTable,
        engine: Engine,
        *,
        identity: Identity,
        spec: RuntimeSpec,
        level: SandboxLevel,
    ) -> None:
        self.contract = contract
        self.sandbox_level: SandboxLevel = level
        self._tools = tools
        self._spec = spec
        self._injector = Injector(tools)
        self._branch_count = 0
        self.closes_last = contextlib.ExitStack()
        """Snapshots, and a worker that runs no other interpreter."""
        self._use = ExclusiveUse(engine.stop, functools.partial(_end, engine, self.closes_last))
        state = EpisodeState(lifetime_of(contract), engine, spec.shaping)
        self._blocks = BlockRunner(state, tools, self._injector, self._use, spec, identity)

    def __exit__(self, *_raised: object) -> None:
        self.close()

    def __del__(self) -> None:
        """Free what a dropped interpreter holds."""
        with contextlib.suppress(Exception):
            self.close()

    def run_block(self, code: str) -> BlockResult:
        """Run a block; whatever it does is an observation.

        Raises:
            ValueError: The interpreter is closed.
            BusyError: It runs another block, or is used in another way, in another thread or by a tool of that block.
        """
        with self._use.alone(runs_block=True):
            return self._blocks.run(code)

    run = run_block
    """For users of `session`."""

    @property
    def events(self) -> list[RuntimeEvent]:
        """Changes of the state other than steps, in order."""
        return self._blocks.events

    @property
    def displays(self) -> deque[Display]:
        """Rich results of the last blocks, in order."""
        return self._blocks.displays

    def drop_name(self, name: str) -> bool:
        """Remove a user name before the next block; return whether it existed."""
        with self._use.alone():
            was_there = self._state.drop(name)
        if was_there:
            self._note("drop", name)
        return was_there

    def verify_contract(self) -> bool:
        """Tell whether the next namespace remembers what its lifetime promises.

        Raise `StateLostError` if its process has ended: a failure of the machine, not of the contract.
        """
        with self._use.alone():
            return self._state.is_as_promised()

    def inject(
        self,
        name: str,
        value: Any,
        *,
        description: str = "",
        runs_in: RunsIn = "host",
        by: By | None = None,
        allow: Iterable[str] | None = None,
    ) -> None:
        """Bind a function, type or variable for all blocks to come.

        Functions, bound methods and other callables run on the host, like tools, or from their source in the sandbox;
        `by="value"` makes a variable of a callable object. Functions and types are put back after every block; a
        variable is the block's to change, as far as the contract keeps what it changes.

        A live object goes in `by="reference"`: it stays in the host, and each use of it is a tool call. Blocks reach
        everything public of it, and of the live objects that it returns; `allow` names what they may reach instead.

        Raises:
            InjectionError: The object does not travel, or no block can use the name.
            ValueError: The interpreter is closed.
            BusyError: It runs a block.
        """
        options = {"description": description, "runs_in": runs_in, "by": by, "allow": allow}
        prepared = self._injector.prepare(name, value, self._install_first, **options)
        self.install(prepared.binding, prepared.entry, runs_in)
        self._injector.complete(value, prepared, self._install_first)

    def inject_all(self, values: Mapping[str, Any]) -> None:
        """Bind several variables in the time of one.

        Raise what `inject` raises.
        """
        prepared = {name: self._injector.prepare(name, value, self._install_first) for name, value in values.items()}
        with self._use.alone():
            self._state.install(*(each.binding for each in prepared.values()))
        for name, each in prepared.items():
            self.injected.append(each.entry)
            self._note("inject", name, {"runs_in": "host"})
            self._injector.complete(values[name], each, self._install_first)

    def offer(self, functions: Mapping[str, Callable[..., Any]]) -> None:
        """Bind functions that the host runs, without describing them.

        Raise what `inject` raises.
        """
        bindings = [self._injector.prepare_tool(name, function) for name, function in functions.items()]
        with self._use.alone():
            self._state.install(*bindings)

    @property
    def injected(self) -> list[Injected]:
        """Injected objects, with the descriptions for a prompt."""
        return self._injector.injected

    def install(self, binding: Binding, entry: Injected, runs_in: RunsIn = "sandbox") -> None:
        """Bind another interpreter's `bindings`, or a source alone.

        Raise what `inject` raises.
        """
        with self._use.alone():
            self._state.install(binding)
        self.injected.append(entry)
        self._note("inject", entry.name, {"runs_in": runs_in})

    def put(self, path: str | Path, content: bytes | None = None) -> None:
        """Put a host file, or a content, into the scratch folder.

        Raises:
            InjectionError: There is no scratch folder, the path leads out of it, or the file is too large.
            OSError: The host's file cannot be read.
        """
        name = str(path)
        if content is None:
            name = Path(path).name
            content = Path(path).read_bytes()
        binding = bind_file(name, content, self._spec.scratch_limit_bytes or 0)
        with self._use.alone():
            self._state.install(binding)
        self._note("put", name)

    def get(self, path: str | Path) -> bytes:
        """Return a file of the scratch folder, or raise `RetrievalError`."""
        name = str(path)
        with self._use.alone():
            fetched = self._state.engine.read_file(name)
        content = self._tools.gate.read(name, fetched)
        if type(content) is not bytes:
            raise RetrievalError(f"{name}: malformed answer")
        self._note("get", name)
        return content

    def files(self) -> dict[str, int]:
        """Return each scratch file's size by path; empty without a folder."""
        with self._use.alone():
            if self._state.engine.has_folder:
                return self._state.engine.file_sizes()
            return {}

    def surroundings(self) -> str:
        """Return a block's surroundings in words: files, network, time, libraries."""
        return describe_surroundings(self._spec, lifetime_of(self.contract), self.sandbox_level)

    def figures(self) -> tuple[Display, ...]:
        """Return the last blocks' figures as PNG and SVG, in order."""
        return tuple(shown for shown in self.displays if shown.is_figure)

    @property
    def salt(self) -> str:
        """Seed of random draws, beside the instance's name."""
        return self._identity.salt

    @property
    def bindings(self) -> tuple[Binding, ...]:
        """Bindings as sent: those of `injected` in their order, and files."""
        return tuple(self._state.engine.installed)

    def retrieve(self, name: str) -> Any:
        """Return a variable as a native object, without unpickling.

        Raise `RetrievalError` if no such variable is alive, or it holds what does not travel.
        """
        with self._use.alone():
            fetched = self._state.engine.fetch(name)
        value = self._tools.gate.read(name, fetched)
        self._note("retrieve", name, {"type": type(value).__name__})
        return value

    def variables(self) -> dict[str, str]:
        """Return the type names of the next block's user variables.

        Raise `StateLostError` if no process holds the state.
        """
        with self._use.alone():
            return self._state.engine.ask_of_variables("types")

    def fingerprints(self) -> dict[str, str]:
        """Return a digest of each user variable's content or type.

        The type stands for what is large or does not travel.

        Raise `StateLostError` if no process holds the state.
        """
        with self._use.alone():
            return self._state.engine.ask_of_variables("fingerprints")

    def snapshot(self) -> EpisodeSnapshot:
        """Freeze the state in memory, until the interpreter closes."""
        with self._use.alone():
            snapshot = self._state.snapshot()
        self._note("snapshot")
        self.closes_last.callback(snapshot.close)
        return snapshot

    def restore(self, snapshot: EpisodeSnapshot) -> tuple[str, ...]:
        """Restore a frozen state and return notices.

        Raise `ValueError` for a stale one.
        """
        with self._use.alone():
            recovered = self._state.restore(snapshot)
        self._note("restore", detail={"event": recovered.event, "notices": list(recovered.notices)})
        return recovered.notices

    def branch(self) -> "Interpreter":
        """Return a second interpreter that continues from the present state.

        Its random draws are its own. Its first result tells the model what did not come along.
        """
        with self._use.alone():
            state, recovered = self._state.branch()
        self._branch_count += 1
        salt = f"{self._identity.salt}/{self._branch_count}"
        other = Interpreter(
            self.contract,
            self._tools.copy(),
            state.engine,
            identity=self._identity._replace(salt=salt),
            spec=self._spec,
            level=self.sandbox_level,
        )
        other._blocks.state = state
        other._blocks.step = self._blocks.step
        other._blocks.untold = recovered.notices
        other.injected.extend(self.injected)
        other._note("branch", detail={"event": recovered.event, "notices": list(recovered.notices), "salt": salt})
        return other

    def save(self, path: Path) -> None:
        """Write the journal that restores the state, for `reload`."""
        path.write_text(self.journal(has_digests=True).model_dump_json(), encoding="utf-8")
        self._note("save")

    def journal(self, *, has_digests: bool = False) -> Journal:
        """Return the journal; with digests, replays name differing variables."""
        return Journal(
            contract=self.contract,
            instance_id=self._identity.instance_id,
            salt=self._identity.salt,
            step_count=self._blocks.step,
            entries=tuple(self._state.journal),
            digests=self._digests() if has_digests else {},
        )

    def reload(self, path: Path) -> tuple[Difference, ...]:
        """Run a saved episode's blocks with recorded replies, and continue.

        Returns every observation that came out otherwise. Inject beforehand what the episode had injected: each is
        bound again where it was bound then, before, between or after the blocks.

        Raises:
            ValueError: The file is not a journal, has another contract, or needs something injected that is missing
                here.
            StateLostError: A block that ended when it was recorded does not end now.
        """
        try:
            return self.replay(Journal.model_validate_json(path.read_text(encoding="utf-8")))
        except ValidationError as error:
            (first, *_) = error.errors()
            place = ".".join(map(str, first["loc"])) or "the file"
            raise ValueError(f"{path}: not a journal that `save` wrote ({place}: {first['msg']})") from error
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error

    def replay(self, journal: Journal, progress: Progress | None = None) -> tuple[Difference, ...]:
        """Run a journal's blocks as `reload` does, reporting `progress`.

        Raise what `reload` raises.
        """
        started = time.perf_counter()
        if journal.contract != self.contract:
            raise ValueError(f"it was recorded under {journal.contract.name}, this is {self.contract.name}")
        if missing := self._state.not_installed(journal.entries):
            raise ValueError(f"missing injected objects: {', '.join(missing)}; inject them before `reload`")
        self._blocks.identity = Identity(journal.instance_id, journal.salt)
        self._tools.gate.references.begin_generation(journal.step_count)
        with self._use.alone():
            found = self._state.reload(journal.entries, progress)
        self._blocks.step = journal.step_count
        if any(difference.field == "state_hash" for difference in found):
            found += changed_variables(self._blocks.step, journal.digests, self._digests())
        seconds = time.perf_counter() - started
        self._note("reload", detail={"difference_count": len(found), "seconds": seconds})
        return found

    def close(self) -> None:
        """End every process and free every file of the episode.

        In the thread that runs a block, a tool's, the end comes with the block's.
        """
        self._use.close()

    @property
    def _state(self) -> EpisodeState:
        return self._blocks.state

    @property
    def _identity(self) -> Identity:
        return self._blocks.identity

    def _install_first(self, prepared: Prepared) -> None:
        """Bind a class that a value needs."""
        self.install(prepared.binding, prepared.entry)

    def _digests(self) -> dict[str, str]:
        """Return a digest of each variable.

        Empty while a block runs, or once the state is lost.
        """
        try:
            with self._use.alone():
                return self._state.engine.ask_of_variables("digests")
        except (BusyError, ValueError):
            return {}
        except (StateLostError, RetrievalError):  # the next block reports it
            return {}

    def _note(self, kind: str, name: str | None = None, detail: dict[str, Any] | None = None) -> None:
        self._blocks.note(kind, name, detail)


def _end(engine: Engine, closes_last: contextlib.ExitStack) -> None:
    """Free what an interpreter holds.

    Without a reference to it, so that a dropped one is freed at once.
    """
    try:
        engine.close()
    finally:
        closes_last.close()
