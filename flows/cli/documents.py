"""Figures and the report as files."""

from datetime import UTC
from pathlib import Path

import polars as pl

from carryover.flows.cli.tables import plan_tables, read_table
from carryover.storage.warehouse.reader import Warehouse
from carryover.tasks.analysis.curves import draw_batches, draw_mixture
from carryover.tasks.analysis.figures import Drawing, draw_figure_2, draw_figure_3
from carryover.tasks.analysis.formatting import describe_setting
from carryover.tasks.analysis.pictures import cells_of, cells_svg
from carryover.tasks.analysis.queries import TableQuery, command_sql, table_query
from carryover.tasks.analysis.report import ReportContent, ReportTable, render_report
from carryover.tasks.analysis.statistic_rows import GROUP_COLUMNS
from carryover.tasks.analysis.summary import findings
from carryover.tasks.services.whole_files import write_whole, written_whole

GROUPS = (*GROUP_COLUMNS, "measured_on")
CELLS_CAPTION = (
    "Means per episode, with 95 % intervals (over several seeds the wider of two). Colour is the contract of "
    "training; red is the share of episodes with an uncaught error about a name that the interpreter does not know."
)


def write_figures(warehouse: Warehouse, plan_digest: str, folder: Path) -> list[Path]:
    """Write the 2x2 and Figures 2 and 3 as captioned SVG.

    Return the files.
    """
    folder.mkdir(exist_ok=True)
    written = []
    for drawing in (*draw_cells(warehouse, plan_digest), *_figures(warehouse, plan_digest)):
        path = folder / f"{drawing.name}.svg"
        write_whole(path, drawing.svg)
        write_whole(path.with_suffix(".txt"), f"{drawing.caption} {drawing.setting}".strip() + "\n")
        written.append(path)
    return written


def write_report(warehouse: Warehouse, plan_digest: str, path: Path) -> Path:
    """Write one self-contained HTML page about a plan and return its path."""
    (run,) = warehouse.sql(command_sql("study_run"), plan_digest=plan_digest).arrow().to_pylist()
    measured = warehouse.sql(command_sql("measured_on"), plan_digest=plan_digest).rows()
    names = plan_tables(warehouse, plan_digest)
    queries = [table_query(name) for name in names if not name.startswith("figure_")]
    content = ReportContent(
        title=f"Carryover: {run['plan_name']}",
        measured_on=measured[0][0] if measured else "no episodes",
        findings=findings(read_table(warehouse, table_query("mechanism"), plan_digest)),
        pictures=draw_cells(warehouse, plan_digest),
        figures=_figures(warehouse, plan_digest),
        tables=[table for query in queries for table in _report_tables(warehouse, query, plan_digest)],
        facts=[
            ("plan", f"{run['plan_name']}, digest {plan_digest}"),
            ("scale", run["scale"]),
            ("run", run["run_id"]),
            ("started", f"{run['started_at'].astimezone(UTC):%Y-%m-%d %H:%M} UTC"),
            ("state", run["status"] or "not finished"),
        ],
        plan_json=run["plan_json"],
        environment_json=run["environment_json"],
    )
    with written_whole(path) as unfinished:
        unfinished.write_text(render_report(content), encoding="utf-8")
    return path


def draw_cells(warehouse: Warehouse, plan_digest: str) -> list[Drawing]:
    """Return the 2x2 of every group of a plan's cells."""
    cells = read_table(warehouse, table_query("cells"), plan_digest)
    drawings = []
    for key, group in cells.partition_by(GROUPS, maintain_order=True, as_dict=True).items():
        *names, measured_on = map(str, key)
        title = f"{describe_setting(**dict(zip(GROUPS, key, strict=True)))} ({measured_on})"
        drawings.append(Drawing("_".join(["cells", *names]), CELLS_CAPTION, cells_svg(cells_of(group), title)))
    return drawings


def _report_tables(warehouse: Warehouse, query: TableQuery, plan_digest: str) -> list[ReportTable]:
    """Return a table; of the claims, three by verdict.

    Those that hold or cannot be verified are many and say little.
    """
    frame = read_table(warehouse, query, plan_digest)
    if query.name != "claims":
        return [ReportTable(query.name, query.title, frame)]
    quiet = {"unverifiable": "what nothing published gives", "holds": "what holds"}
    loud = frame.filter(~pl.col("verdict").is_in([*quiet]))
    tables = [ReportTable("claims", f"{query.title}: what does not simply hold", loud)]
    for verdict, title in quiet.items():
        rows = frame.filter(pl.col("verdict") == verdict)
        tables.append(ReportTable(f"claims_{verdict}", f"{query.title}: {title}", rows))
    return tables


def _figures(warehouse: Warehouse, plan_digest: str) -> list[Drawing]:
    if "figure_2" not in plan_tables(warehouse, plan_digest):
        return []
    figure_2 = read_table(warehouse, table_query("figure_2"), plan_digest)
    figure_3 = read_table(warehouse, table_query("figure_3"), plan_digest)
    return [*draw_figure_2(figure_2), *draw_figure_3(figure_3), *draw_doses(warehouse, plan_digest)]


def draw_doses(warehouse: Warehouse, plan_digest: str) -> list[Drawing]:
    """Return the figures of a plan's dose studies; none for another plan."""
    batches = read_table(warehouse, table_query("batches"), plan_digest)
    mixture = read_table(warehouse, table_query("mixture"), plan_digest)
    return [*draw_batches(batches), *draw_mixture(mixture)]
