"""One table of all contenders and all measures."""

from tests.flattening import flat


class Table:
    """Cells by contender and measure, in the order in which they came; a cell that has no figure says why."""

    def __init__(self) -> None:
        self._cells: dict[str, dict[str, str]] = {}
        self._reasons: list[str] = []

    def enter(self, name: str, measure: str, figure: str) -> None:
        """Put a figure in its cell."""
        self._cells.setdefault(name, {})[measure] = figure

    def leave_out(self, name: str, measure: str, reason: str) -> None:
        """Put a dash in a cell, and say below the table why."""
        self.enter(name, measure, "-")
        self._reasons.append(f"- {name}, {measure}: {reason}")

    def text(self) -> str:
        """Return the table as Markdown, with the reasons for its dashes."""
        measures = list(dict.fromkeys(flat(self._cells.values())))
        rows = [[name, *(row.get(measure, "-") for measure in measures)] for name, row in self._cells.items()]
        widths = [
            max(len(row[column]) for row in [["contender", *measures], *rows]) for column in range(len(measures) + 1)
        ]
        lines = [["contender", *measures], ["-" * width for width in widths], *rows]
        drawn = [" | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
        return "\n".join([*(f"| {line} |" for line in drawn), *self._reasons])
