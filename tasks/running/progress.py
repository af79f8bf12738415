"""Progress bars with a rate and a remaining time; plain lines where there is no terminal."""

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


class Advance(Protocol):
    """Tells a bar how many more units are done."""

    def __call__(self, count: int, detail: str = "") -> None:
        """Advance by `count` units; `detail` stands behind the label until the next call."""
        ...


class OpenBar(Protocol):
    """Opens a bar for a stage that goes on inside a plain function: `progress_bar` where a person waits."""

    def __call__(self, label: str, total: int, unit: str) -> AbstractContextManager[Advance]:
        """Open a bar of `total` units, closed with the block."""
        ...


class RateColumn(ProgressColumn):
    """Units per second over the last minute."""

    def render(self, task: Task) -> Text:
        """Show the rate, or a dash before there is one."""
        rate = task.finished_speed or task.speed
        return Text("-/s" if not rate else f"{rate:.1f}/s" if rate < 100 else f"{rate:.0f}/s")


@dataclass
class _Display:
    """One live display for all bars of the process; opened with the first bar, closed with the last."""

    progress: Progress | None = None
    bar_count: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


_display = _Display()


@contextmanager
def progress_bar(label: str, total: int, unit: str) -> Iterator[Advance]:
    """Show a bar while a stage goes on and yield the function that advances it.

    Several bars may be open at once, from several threads. Where there is nothing to do, nothing is shown.
    """
    if total == 0 or not sys.stderr.isatty():
        with (_plain_lines if total else no_bar)(label, total, unit) as advance:
            yield advance
        return
    with _display.lock:
        if _display.progress is None:
            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                RateColumn(),
                TimeRemainingColumn(elapsed_when_finished=True),
            )
            _display.progress = Progress(*columns, console=Console(stderr=True), speed_estimate_period=60)
            _display.progress.start()
        progress = _display.progress
        _display.bar_count += 1
    name = f"{label} ({unit})"
    bar = progress.add_task(name, total=total)

    def advance(count: int, detail: str = "") -> None:
        progress.update(bar, advance=count, description=f"{name} {detail}".rstrip())

    try:
        yield advance
    finally:
        with _display.lock:
            _display.bar_count -= 1
            if _display.bar_count == 0:
                progress.stop()
                _display.progress = None


@contextmanager
def no_bar(label: str, total: int, unit: str) -> Iterator[Advance]:
    """Show nothing: for a stage that is called as a plain function."""
    yield lambda count, detail="": None


@contextmanager
def waiting_line(label: str) -> Iterator[Callable[[str], None]]:
    """Show that something is waited for, with a changing detail; yield the function that tells the detail."""
    if not sys.stderr.isatty():
        _say(label)
        yield lambda _detail: None
        return
    with Console(stderr=True).status(label) as status:
        yield lambda detail: status.update(f"{label}: {detail[:100]}" if detail else label)


@contextmanager
def _plain_lines(label: str, total: int, unit: str) -> Iterator[Advance]:
    started = last = time.monotonic()
    done = 0
    lock = threading.Lock()

    def advance(count: int, detail: str = "") -> None:
        nonlocal done, last
        with lock:
            done += count
            now = time.monotonic()
            if now - last >= PLAIN_INTERVAL_SECONDS and done < total:
                last = now
                rate = done / (now - started)
                remaining = (total - done) / rate if rate else float("inf")
                told = f", {detail}" if detail else ""
                _say(f"{label}: {done}/{total} {unit}, {rate:.1f}/s, {remaining:.0f} s to go{told}")

    yield advance
    seconds = time.monotonic() - started
    _say(f"{label}: {done}/{total} {unit} in {seconds:.1f} s")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
