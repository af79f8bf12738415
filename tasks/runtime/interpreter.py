"""One episode's interpreter under one contract, the same for every backend."""

import hashlib
import time

from tasks.runtime.bindings import Bindings
from tasks.runtime.engine import Block, BlockKilledError, Engine, Report, StateLostError
from tasks.runtime.lifetime import Lifetime
from tasks.runtime.protocol import BlockError, BlockResult, Contract
from tasks.runtime.tools import ToolTable

ROLLED_BACK = "The interpreter was rolled back to its state before this step."
LOST = "The interpreter's state was lost: no name of earlier steps is there any more."


class EpisodeInterpreter:
    """An `Interpreter` on top of a backend's engine.

    What a contract promises is asked of its lifetime policy; nothing here knows a contract's name.
    """

    def __init__(
        self, contract: Contract, lifetime: Lifetime, engine: Engine, tools: ToolTable, seed_parts: tuple[str, str]
    ) -> None:
        self.contract = contract
        self._lifetime = lifetime
        self._engine = engine
        self._tools = tools
        self._instance_id, self._salt = seed_parts
        self._bindings = Bindings(lifetime)
        self._step = 0
        self._kept_step: int | None = None
        self._active: tuple[str, ...] = ()
        self._is_closed = False

    def run_block(self, code: str) -> BlockResult:
        """Run a block; whatever it does is an observation."""
        started = time.perf_counter()
        self._step += 1
        self._tools.start_block()
        try:
            report = self._engine.execute(Block(self._step, self._seed(), code), self._tools.answer)
        except (BlockKilledError, StateLostError) as ended:
            return self._roll_back(ended, started)
        return self._keep(code, report, started)

    def drop_name(self, name: str) -> bool:
        """Remove a user name before the next block; tell whether it was there."""
        if name not in self._active:
            return False
        try:
            was_there = self._engine.drop(name)
        except StateLostError:
            return False
        self._active = tuple(other for other in self._active if other != name)
        return was_there

    def verify_contract(self) -> bool:
        """Tell whether the next block's namespace remembers what the lifetime policy says it should."""
        try:
            return self._engine.canary() == self._kept_step
        except StateLostError:
            return False

    def close(self) -> None:
        """End every process and free every file of the episode."""
        if not self._is_closed:
            self._is_closed = True
            self._engine.close()

    def _keep(self, code: str, report: Report, started: float) -> BlockResult:
        output = self._engine.output()
        self._active = self._bindings.survivors(report.names, self._step, code)
        is_canary_kept = self._lifetime.survives(self._step, self._step)
        self._kept_step = self._step if is_canary_kept else None
        dropped = [name for name in report.names if name not in self._active] if is_canary_kept else None
        self._engine.finish(dropped)
        error = None
        if report.error_type is not None:
            kind = self._tools.error_kind(report.call)
            error = BlockError(kind=kind, type=report.error_type, message=report.error_text)
        return BlockResult(
            output=output,
            result=report.result,
            error=error,
            active_globals=self._active,
            last_step_globals=report.names,
            tool_calls=self._tools.finish_block(report.call),
            state_event="kept",
            state_hash=report.state_hash,
            notices=report.notices,
            seconds=time.perf_counter() - started,
        )

    def _roll_back(self, ended: BlockKilledError | StateLostError, started: float) -> BlockResult:
        output = self._engine.output()
        is_complete = self._engine.roll_back()
        if not is_complete:
            self._active, self._kept_step = (), None
        is_killed = isinstance(ended, BlockKilledError)
        error_type = ended.type_name if is_killed else "InterpreterDied"
        return BlockResult(
            output=output,
            result=None,
            error=BlockError(kind="interpreter", type=error_type, message=str(ended)),
            active_globals=self._active,
            last_step_globals=self._active,
            tool_calls=self._tools.finish_block(None),
            state_event="rolled_back" if is_complete else "lost",
            state_hash=None,
            notices=(ROLLED_BACK if is_complete else LOST,),
            seconds=time.perf_counter() - started,
        )

    def _seed(self) -> str:
        """Return the step's seed: equal under every contract, and no way back to the instance's own."""
        return hashlib.sha256(f"{self._instance_id}:{self._step}:{self._salt}".encode()).hexdigest()
