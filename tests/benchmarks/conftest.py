from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from tests.benchmarks import figures


class Keeping(Protocol):
    """Prints a figure and keeps it for figures.json; a bound is its goal, which this does not assert."""

    def __call__(
        self, what: str, value: float, unit: str = "", *, at_most: float | None = None, at_least: float | None = None
    ) -> None: ...


@pytest.fixture
def keep_figure(request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> Iterator[Keeping]:
    """Print what a test measures, also where output is captured, and keep it."""
    measured: list[figures.Figure] = []
    file = str(Path(str(request.path)).relative_to(figures.FOLDER))

    def keep(what: str, value: float, unit: str = "", **goal: float | None) -> None:
        bounds = {"at_most": None, "at_least": None} | goal
        measured.append(figures.Figure(file, what, value, unit, **bounds, load=figures.load()))
        with capsys.disabled():
            print(f"\n{measured[-1].line()}", end="", flush=True)

    yield keep
    figures.write(figures.LATEST, figures.replace(figures.read(figures.LATEST), measured))
