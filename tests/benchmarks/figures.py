"""Figures of the benchmarks, and what pages show of them.

    pytest -m benchmark tests/benchmarks && python -m tests.benchmarks.figures

A run leaves its figures in build/figures.json. The command puts them into figures.json, in place of the same figures of
earlier runs, writes the missed goals and the chart into their pages, and prints every figure.
"""

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent
KEPT = FOLDER / "figures.json"
README = FOLDER / "README.md"
LATEST = FOLDER.parents[1] / "build" / "figures.json"
GROWTH = FOLDER.parents[1] / "deployments" / "machines.md"
START, END = "<!-- figures: written by tests/benchmarks/figures.py -->", "<!-- end of figures -->"


class Figure(NamedTuple):
    """One measured number."""

    file: str
    """Which test measured it, relative to this folder."""
    what: str
    value: float
    unit: str
    at_most: float | None
    at_least: float | None
    load: float
    """Processes that wanted a processor during the last minute; about 1 where nothing else ran."""

    @property
    def is_missed(self) -> bool:
        """Whether its goal is not met."""
        too_large = self.at_most is not None and self.value > self.at_most
        return too_large or (self.at_least is not None and self.value < self.at_least)

    @property
    def goal(self) -> str:
        """The bound that it should keep to, or nothing."""
        if self.at_most is not None:
            return f"at most {self.at_most:g}"
        return "" if self.at_least is None else f"at least {self.at_least:g}"

    def line(self) -> str:
        """Return what a person who watches the run reads."""
        goal = f" (goal: {self.goal})" if self.goal else ""
        return f"{self.what}: {self.value:.3g} {self.unit}{goal}"

    def row(self) -> str:
        """Return its row of a Markdown table."""
        measured = f"{self.value:.3g} {self.unit}".strip()
        return f"| {self.what} | {measured} | {self.goal} |"


def read(path: Path) -> list[Figure]:
    """Return the figures of a file, none where there is no file."""
    return [Figure(**fields) for fields in json.loads(path.read_text())] if path.exists() else []


def write(path: Path, figures: list[Figure]) -> None:
    """Write figures, one to a line."""
    lines = ",\n".join(json.dumps(figure._asdict()) for figure in figures)
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"[\n{lines}\n]\n")


def replace(kept: list[Figure], latest: list[Figure]) -> list[Figure]:
    """Return all figures by file, each as it was measured last."""
    newest = {(figure.file, figure.what): figure for figure in [*kept, *latest]}
    return sorted(newest.values(), key=lambda figure: figure.file)


def missed_goals(figures: list[Figure]) -> str:
    """Return a count of the goals, and a table of the missed ones."""
    goals = [figure for figure in figures if figure.goal]
    missed = [figure for figure in goals if figure.is_missed]
    count = f"{len(goals) - len(missed)} of {len(goals)} goals are met. Missed:"
    head = "| what | measured | goal |\n|---|---|---|"
    return "\n".join([count, "", head, *(figure.row() for figure in missed)])


def chart(figures: list[Figure]) -> str:
    """Return the episodes per hour of several workers as a chart, and how busy the machine was."""
    named = ((re.match(r"episodes per hour: (\d+) workers, 4 side by side", each.what), each) for each in figures)
    rates = dict(sorted((int(match[1]), each) for match, each in named if match))
    heights = [round(each.value) for each in rates.values()]
    cost = next(each.value for each in figures if each.what.startswith("processor time of an episode: 1 workers, 4"))
    lines = (
        "xychart-beta",
        '    title "Episodes per hour, four side by side in each worker"',
        f'    x-axis "workers" {[*rates]}',
        f'    y-axis "episodes per hour" 0 --> {max(heights)}',
        f"    bar {heights}",
    )
    loads = ", ".join(f"{each.load:.0f}" for each in rates.values())
    said = f"Load of the two cores meanwhile, other work included: {loads}. An episode takes {cost:.0f} ms of a core."
    return "\n".join(["```mermaid", *lines, "```", "", said])


def written_into(readme: str, figures: list[Figure], show: Callable[[list[Figure]], str] = missed_goals) -> str:
    """Return a README with the missed goals, or another show of figures, between its two marks."""
    before, _, rest = readme.partition(START)
    return f"{before}{START}\n\n{show(figures)}\n\n{END}{rest.partition(END)[2]}"


def load() -> float:
    """Return the load of the last minute."""
    return os.getloadavg()[0]


if __name__ == "__main__":
    write(KEPT, replace(read(KEPT), read(LATEST)))
    README.write_text(written_into(README.read_text(), read(KEPT)))
    GROWTH.write_text(written_into(GROWTH.read_text(), read(KEPT), chart))
    for figure in read(KEPT):
        print(f"{figure.file}: {figure.line()}")
