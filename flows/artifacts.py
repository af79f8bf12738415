"""Artifacts of a study's and a night's runs, shown in Prefect's UI."""

import base64
from collections.abc import Sequence

import polars as pl
from prefect.artifacts import create_link_artifact, create_markdown_artifact, create_table_artifact

from carryover.flows.cli.results.documents import table_reader, write_report
from carryover.flows.cli.results.tables import plan_tables, read_table
from carryover.storage.warehouse.reader import Warehouse
from carryover.tasks.analysis.drawings import draw_cells
from carryover.tasks.analysis.queries import command_sql, table_query
from carryover.tasks.analysis.rendering import render_table
from carryover.tasks.analysis.summary import findings
from carryover.tasks.plans.study_plan import StudyPlan
from carryover.tasks.services.folders import name_folders
from carryover.tasks.traces.result_rows import NightVerdictRow


def show_study(plan: StudyPlan) -> None:
    """Show a plan's results as artifacts of the current run."""
    folders = name_folders()
    with Warehouse.open(folders.warehouse) as warehouse:
        settings = read_table(warehouse, table_query("mechanism"), plan.digest)
        lines = [f"# {plan.title}", *findings(settings)]
        for drawing in draw_cells(table_reader(warehouse, plan.digest)):  # an image that needs no other file
            data = base64.b64encode(drawing.svg.encode()).decode()
            lines += [f"![{drawing.name}](data:image/svg+xml;base64,{data})", drawing.caption]
        description = f"The 2x2 of plan {plan.digest}."
        create_markdown_artifact("\n\n".join(lines), key=_key(plan, "result"), description=description)
        for query in map(table_query, plan_tables(warehouse, plan.digest)):
            frame = read_table(warehouse, query, plan.digest)
            if frame.height:
                _, _, text = render_table(query.name, frame, "markdown").partition("\n\n")  # without its heading
                create_markdown_artifact(text, key=_key(plan, query.name), description=query.title)
        checks = warehouse.sql(command_sql("plan_checks"), plan_digest=plan.digest).polars()
        folders.documents.mkdir(exist_ok=True)
        report = write_report(warehouse, plan.digest, folders.documents / f"report-{plan.digest}.html")
    broken = checks.filter(pl.col("result") == "broken")
    description = f"{checks.height - broken.height} of {checks.height} checks passed."
    if broken.height:
        names = [f"{suite}: {name}" for suite, name in broken.select("suite", "check").rows()]
        description += f" Broken: {', '.join(names)}."
    create_table_artifact(checks.to_dicts(), key=_key(plan, "checks"), description=description)
    create_link_artifact(
        report.as_uri(),
        link_text=f"{report} on the machine that ran the analysis",
        key=_key(plan, "report"),
        description="Tables, figures, claims, plan and environment on one page.",
    )


def show_verdicts(plan: StudyPlan, verdicts: Sequence[NightVerdictRow], message: str) -> None:
    """Add a night's verdicts to the current run as a table."""
    rows = [verdict_cells(row) for row in verdicts]
    create_table_artifact(rows, key=_key(plan, "verdicts"), description=f"{message}.")


def verdict_cells(row: NightVerdictRow) -> dict[str, str]:
    """Return a verdict as a row of the table, text by column.

    What counts most comes first: the UI cuts a wide table off at its right.
    """
    identical = "-"
    score = "-"
    if row.baseline_run_id:
        score = f"{_shown(row.baseline_mean_score, 3)} → {_shown(row.mean_score, 3)}"
        identical = f"{row.identical_count} of {row.pair_count}"
        if row.unpaired_count:
            identical += f", {row.unpaired_count} without a pair"
    return {
        "cell": f"{row.model_name} on {row.runtime_contract}, {row.bucket}",
        "verdict": row.verdict,
        "differs": ", ".join(row.differing) or "-",
        "score": score,
        "tokens": _token_change(row),
        "identical": identical,
        "p of score, tokens": f"{_p_value(row.score_p_holm)}, {_p_value(row.token_p_holm)}",
        "note": row.note or "-",
    }


def _token_change(row: NightVerdictRow) -> str:
    if row.token_ratio is None:
        return "-"
    change = f"× {row.token_ratio:.2f}"
    if row.low is None:
        return change
    return f"{change} [{row.low:.2f}, {_shown(row.high, 2)}]"


def _p_value(value: float | None) -> str:
    if value is not None and value < 0.0001:
        return "< 0.0001"
    return _shown(value, 4)


def _shown(value: float | None, digits: int) -> str:
    if value is None:
        return "-"
    return f"{value:.{digits}f}"


def _key(plan: StudyPlan, name: str) -> str:
    return f"{plan.name}-{name}".replace("_", "-").lower()
