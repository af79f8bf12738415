"""An episode's blocks: run in turn, rolled back where they were killed, reported."""

import re
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from carryover.tasks.runtime import notices
from carryover.tasks.runtime.engine import Block, BlockKilledError, StateLostError
from carryover.tasks.runtime.exclusive import ExclusiveUse
from carryover.tasks.runtime.identity import Identity
from carryover.tasks.runtime.injecting import Injector
from carryover.tasks.runtime.results import BlockError, BlockResult, Display, RuntimeEvent
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.runtime.screening import refusal
from carryover.tasks.runtime.state import Done, EpisodeState
from carryover.tasks.runtime.tools import ToolTable

_DISPLAYS_KEPT = 100
_COMMAND = re.compile(r"^\s*(%%?[A-Za-z]|![A-Za-z./])", re.MULTILINE)
"""A magic or shell command of IPython's."""
_CLOSED = BlockError("interpreter", "InterpreterClosed", "InterpreterClosed: the interpreter was closed meanwhile")


@dataclass(eq=False, repr=False)
class BlockRunner:
    """Runs blocks on an episode's state, one at a time."""

    state: EpisodeState
    tools: ToolTable
    injector: Injector
    use: ExclusiveUse
    spec: RuntimeSpec
    identity: Identity
    events: list[RuntimeEvent] = field(default_factory=list)
    """Changes of the state other than steps, in order."""
    displays: deque[Display] = field(default_factory=lambda: deque(maxlen=_DISPLAYS_KEPT))
    """Rich results of the last blocks, in order."""
    step: int = 0
    """Number of the last block."""
    untold: tuple[str, ...] = ()
    """Notices for the model, due with the next block's result."""

    def run(self, code: str) -> BlockResult:
        """Run a block; whatever it does is an observation."""
        started = time.perf_counter()
        self.step += 1
        self.tools.start_block()
        refused = refusal(code, self.spec.policy)
        if refused is not None:
            return self._result(started, error=refused)
        block = Block(self.step, self.identity.seed(self.step), code)
        try:
            done = self.state.run(block, self.tools.answer, self.tools.replies)
        except (BlockKilledError, StateLostError) as ended:
            if self.use.is_closed:
                return self._result(started, error=_CLOSED, tool_calls=self.tools.finish_block(None))
            return self._roll_back(ended, started)
        self.displays += done.displays
        return self._report(done, code, started)

    def note(self, kind: str, name: str | None = None, detail: dict[str, Any] | None = None) -> None:
        """Record a change of the state."""
        self.events.append(RuntimeEvent(self.step, kind, name, detail))

    def _report(self, done: Done, code: str, started: float) -> BlockResult:
        report = done.report
        due = (*report.notices, *_told_of_figures(done.displays), *self._told_of_tools(report.restored))
        if report.error_type == SyntaxError.__name__ and _COMMAND.search(code):
            due = (*due, notices.NO_MAGICS)
        error = None
        if report.error_type is not None:
            error = BlockError(self.tools.error_kind(report.call), report.error_type, report.error_text)
        return self._result(
            started,
            error=error,
            output=done.output,
            result=report.result,
            last_step_globals=report.names,
            tool_calls=self.tools.finish_block(report.call),
            state_hash=report.state_hash,
            displays=done.displays,
            notices=due,
        )

    def _roll_back(self, ended: BlockKilledError | StateLostError, started: float) -> BlockResult:
        # Read first: a rollback empties the file, or goes on with another.
        output = self.spec.shaping.shape(self.state.engine.output(), self.step, can_keep=False).text
        recovered = self.state.roll_back(undoes_last=isinstance(ended, StateLostError))
        self.note(recovered.event)
        if isinstance(ended, StateLostError):
            reason = "what earlier blocks left running has ended the interpreter, before this block began"
            ended = BlockKilledError("InterpreterDied", reason)
        return self._result(
            started,
            error=BlockError("interpreter", ended.type_name, str(ended)),
            output=output,
            tool_calls=self.tools.finish_block(None),
            state_event=recovered.event,
            notices=recovered.notices,
        )

    def _result(self, started: float, **fields: Any) -> BlockResult:
        """Return the result of a block, with the notices still due."""
        active = self.state.active
        fields = {"active_globals": active, "last_step_globals": active, **fields}
        fields["notices"] = (*self.untold, *fields.get("notices", ()), *self.state.engine.due_notices())
        self.untold = ()
        return BlockResult(seconds=time.perf_counter() - started, **fields)

    def _told_of_tools(self, bound: tuple[str, ...]) -> tuple[str, ...]:
        """Return the notice about bound names of tools and injected objects."""
        if not bound:
            return ()
        names = sorted(self.injector.known_names.intersection(bound))
        if names:
            return (notices.TOOLS_RESTORED.format(names=", ".join(names)),)
        return ()


def _told_of_figures(displays: tuple[Display, ...]) -> tuple[str, ...]:
    count = sum(shown.is_figure for shown in displays)
    if count:
        return (notices.FIGURES_SHOWN.format(count=count),)
    return ()
