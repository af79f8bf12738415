"""Figures and the report as files."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import polars as pl

from carryover.flows.cli.asking import ask_of
from carryover.flows.cli.results.tables import plan_tables, read_table
from carryover.storage.warehouse.reader import Warehouse
from carryover.tasks.analysis.drawings import draw_cells, draw_figures
from carryover.tasks.analysis.queries import table_query
from carryover.tasks.services.whole_files import write_whole
from carryover.tasks.viewer.bundle import write_report_file


def write_figures(warehouse: Warehouse, plan_digest: str, folder: Path) -> list[Path]:
    """Write the 2x2 and Figures 2 and 3 as captioned SVG.

    Return the files.
    """
    folder.mkdir(exist_ok=True)
    read = table_reader(warehouse, plan_digest)
    written = []
    for drawing in (*draw_cells(read), *draw_figures(read, plan_tables(warehouse, plan_digest))):
        path = folder / f"{drawing.name}.svg"
        write_whole(path, drawing.svg)
        write_whole(path.with_suffix(".txt"), f"{drawing.caption} {drawing.setting}".strip() + "\n")
        written.append(path)
    return written


def write_report(warehouse: Warehouse, plan_digest: str, path: Path) -> Path:
    """Write the viewer's pages on a plan as HTML; return the path.

    The file holds no traces.

    Raises:
        FileNotFoundError: Its folder does not exist; a mistyped path makes none.
    """
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path.parent))
    write_report_file(ask_of(warehouse), plan_digest, path)
    return path


def table_reader(warehouse: Warehouse, plan_digest: str) -> Callable[[str], pl.DataFrame]:
    """Return what reads a plan's rows of a table by its name."""

    def read(name: str) -> pl.DataFrame:
        return read_table(warehouse, table_query(name), plan_digest)

    return read
