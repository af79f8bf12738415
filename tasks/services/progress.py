"""Progress bars with a rate and a remaining time.

Plain lines where there is no terminal.
"""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

PLAIN_INTERVAL_SECONDS = 30.0
"""Time between two lines where there is no terminal."""
LEAST_RATE = 0.05
"""Units per second below which the seconds of a unit are shown instead."""
UNITS_BEFORE_ESTIMATE = 10
"""Units that must be done before the time left is shown."""


class Advance(Protocol):
    """Tells a bar how many more units are done."""

    def __call__(self, count: int, detail: str = "") -> None:
        """Advance by `count` units; `detail` follows the label until the next call."""


class OpenBar(Protocol):
    """Open a stage's bar inside a plain function.

    `progress_bar` does if a person waits.
    """

    def __call__(self, label: str, total: int, unit: str) -> AbstractContextManager[Advance]:
        """Open a bar of `total` units, closed with the block."""
        ...


@dataclass
class StageProgress:
    """Progress of a stage."""

    label: str
    total: int
    unit: str
    done: int = 0
    detail: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, count: int, detail: str) -> None:
        """Note how many more units are done."""
        with self.lock:
            self.done += count
            self.detail = detail or self.detail

    def describe(self, seconds: float) -> tuple[float, str]:
        """Return the percentage done, and a line with the time left."""
        with self.lock:
            done = self.done
            detail = self.detail
        text = f"{self.label}: {done:,} of {self.total:,} {self.unit} in {seconds:.0f} s"
        if done and seconds:
            text += f", {pace(done / seconds, self.unit)}"
        if UNITS_BEFORE_ESTIMATE <= done < self.total:
            text += f", {(self.total - done) * seconds / done:.0f} s left"
        if detail:
            text += f", {detail}"
        return min(100.0, 100 * done / self.total), text


def pace(rate: float, unit: str) -> str:
    """Return units per second, or seconds per unit for slow ones.

    `unit` is their plural.
    """
    if rate < LEAST_RATE:
        return f"{1 / rate:.0f} s per {unit.removesuffix('s')}"
    if rate < 100:
        return f"{rate:.1f}/s"
    return f"{rate:.0f}/s"


class RateColumn(ProgressColumn):
    """Units per second over the last minute."""

    def render(self, task: Task) -> Text:
        """Show the rate, or a dash before there is one."""
        rate = task.finished_speed or task.speed
        if not rate and task.completed and task.elapsed:  # no unit ended within the last minute
            rate = task.completed / task.elapsed
        return Text(pace(rate, task.fields["unit"]) if rate else "-/s")


class TimeLeftColumn(TimeRemainingColumn):
    """Time left once it is known; at the end, time taken."""

    def render(self, task: Task) -> Text:
        """Show the time, or dashes before it is known.

        Of units played side by side the first tells little.
        """
        is_early = task.completed < UNITS_BEFORE_ESTIMATE and not task.finished
        if is_early:
            return Text("-:--:--", style="progress.remaining")
        return super().render(task)


@dataclass
class _Display:
    """One live display for all bars of the process.

    Opened with the first bar, closed with the last.
    """

    progress: Progress | None = None
    bar_count: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


display = _Display()


@contextmanager
def progress_bar(label: str, total: int, unit: str) -> Iterator[Advance]:
    """Show a bar while a stage runs; yield its advance function.

    Several bars may be open at once, from several threads. Where there is nothing to do, nothing is shown.
    """
    if total == 0 or not sys.stderr.isatty():
        with (_plain_lines if total else no_bar)(label, total, unit) as advance:
            yield advance
        return
    with display.lock:
        if display.progress is None:
            left = TimeLeftColumn(elapsed_when_finished=True)
            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), RateColumn(), left)
            display.progress = Progress(*columns, console=Console(stderr=True), speed_estimate_period=60)
            display.progress.start()
        progress = display.progress
        display.bar_count += 1
    name = f"{label} ({unit})"
    bar = progress.add_task(name, total=total, unit=unit)

    def advance(count: int, detail: str = "") -> None:
        progress.update(bar, advance=count, description=f"{name} {detail}".rstrip())

    try:
        yield advance
    finally:
        with display.lock:
            display.bar_count -= 1
            if display.bar_count == 0:
                progress.stop()
                display.progress = None


@contextmanager
def no_bar(label: str, total: int, unit: str) -> Iterator[Advance]:
    """Show nothing: for a stage that is called as a plain function."""
    yield lambda count, detail="": None


@contextmanager
def waiting_line(label: str) -> Iterator[Callable[[str], None]]:
    """Show a wait with a changing detail.

    Yield the function that sets the detail.
    """
    if not sys.stderr.isatty():
        _say(label)
        yield lambda _detail: None
        return
    with Console(stderr=True).status(label) as status:
        yield lambda detail: status.update(f"{label}: {detail[:100]}" if detail else label)


@contextmanager
def _plain_lines(label: str, total: int, unit: str) -> Iterator[Advance]:
    stage = StageProgress(label, total, unit)
    started = time.monotonic()
    last_shown = started

    def advance(count: int, detail: str = "") -> None:
        nonlocal last_shown
        stage.add(count, detail)
        now = time.monotonic()
        if now - last_shown >= PLAIN_INTERVAL_SECONDS and stage.done < total:
            last_shown = now
            _say(stage.describe(now - started)[1])

    yield advance
    _say(stage.describe(time.monotonic() - started)[1])


def _say(line: str) -> None:
    print(line, file=sys.stderr)
