"""An engine that does what a test says and notes what it is asked, and a state on it."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from carryover.tasks.runtime.engine import Block, Report
from carryover.tasks.runtime.lifetime import Lifetime
from carryover.tasks.runtime.objects import Binding
from carryover.tasks.runtime.process.node import Canaries
from carryover.tasks.runtime.results import Display
from carryover.tasks.runtime.shaping import WholeOutput
from carryover.tasks.runtime.state import EpisodeState

KEPT = Lifetime("live", "all")
STATELESS = Lifetime("fresh", "nothing", keeps_files=False)
RECENT = Lifetime("live", "some", step_count=2)
REPORT = Report("1", None, "", None, ("x",), "h", (), "c", 0, ())


class Notes:
    """An engine that does what a test says and notes what it is asked."""

    def __init__(self) -> None:
        self.notes: list[Any] = []
        self.installed: list[Binding] = []
        self.found = Canaries()
        self.forgets = False
        self.has_folder = False
        self.recovery: Any = "complete"
        self.reports: list[Any] = []
        self.due: tuple[str, ...] = ()
        self.dropped = 1
        self.printed = "out"

    def canaries(self) -> Canaries:
        return self.found

    def execute(self, block: Block, answer: Callable[..., Any]) -> Report:
        self.notes.append(("execute", block.step))
        report: Any = self.reports.pop(0) if self.reports else REPORT
        if isinstance(report, Exception):
            raise report
        if callable(report):
            report = report(answer)
        self.found = Canaries(report.canary, report.canary)
        return report

    def output(self) -> str:
        return self.printed

    def shown(self, step: int) -> tuple[Display, ...]:
        return (Display(step, {"image/png": b"", "image/svg+xml": ""}), Display(step, {"text/html": ""}))

    def keep_output(self, name: str) -> None:
        self.notes.append(("keep", name))

    def finish(self, dropped: list[str] | None) -> None:
        self.notes.append(("finish", dropped))

    def ask(self, message: Any) -> int:
        self.notes.append(message)
        return self.dropped

    def install(self, *bindings: Binding) -> None:
        self.notes.append(("install", *(binding.name for binding in bindings)))
        self.installed += bindings

    def restart(self, installed: Any) -> None:
        self.notes.append(("restart", *(binding.name for binding in installed)))
        self.installed = list(installed)

    def roll_back(self) -> Any:
        return self.recovery

    def freeze(self) -> Any:
        return SimpleNamespace(release=lambda: self.notes.append("released"))

    def thaw(self, _frozen: Any) -> Any:
        return self.recovery

    def branch(self) -> Any:
        return Notes(), self.recovery

    def due_notices(self) -> tuple[str, ...]:
        return self.due


def state_on(lifetime: Lifetime, shaping: Any = None) -> tuple[EpisodeState, Notes]:
    engine: Any = Notes()
    return EpisodeState(lifetime, engine, shaping or WholeOutput()), engine


def run(state: EpisodeState, step: int = 1, code: str = "x = 1") -> Any:
    return state.run(Block(step, "0", code), lambda *_: (), lambda: ())


def binding(name: str) -> Binding:
    return Binding(("define", name, "", []))
