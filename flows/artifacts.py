"""What a study and a night show in Prefect's UI: artifacts of their runs."""

import base64
from collections.abc import Sequence

import polars as pl
from prefect.artifacts import create_link_artifact, create_markdown_artifact, create_table_artifact

from carryover.flows.cli.documents import draw_cells, write_report
from carryover.flows.cli.places import command_sql
from carryover.flows.cli.tables import read_table
from carryover.storage.warehouse.reader import Warehouse
from carryover.tasks.analysis.figures import Drawing
from carryover.tasks.analysis.queries import table_names, table_query
from carryover.tasks.analysis.rendering import render_table
from carryover.tasks.analysis.summary import findings
from carryover.tasks.plans.spec import StudyPlan
from carryover.tasks.running.folders import name_places
from carryover.tasks.traces.study_rows import NightVerdictRow


def show_study(plan: StudyPlan) -> None:
    """Add a plan's 2x2, its tables, the summary of its data checks and a link to its report to the current run."""
    places = name_places()
    with Warehouse.open(places.warehouse) as warehouse:
        settings = read_table(warehouse, table_query("mechanism"), plan.digest)
        lines = [
            f"# {plan.name}: {plan.label}",
            *findings(settings),
            *map(_picture, draw_cells(warehouse, plan.digest)),
        ]
        create_markdown_artifact(
            "\n\n".join(lines), key=_key(plan, "result"), description=f"The 2x2 of plan {plan.digest}."
        )
        for query in map(table_query, table_names()):
            frame = read_table(warehouse, query, plan.digest)
            if frame.height:
                text = render_table(query.name, frame, "markdown", title=query.title)
                create_markdown_artifact(text, key=_key(plan, query.name), description=query.title)
        checks = warehouse.sql(command_sql("plan_checks"), plan_digest=plan.digest).polars()
        places.documents.mkdir(exist_ok=True)
        report = write_report(warehouse, plan.digest, places.documents / f"report-{plan.digest}.html")
    create_table_artifact(checks.to_dicts(), key=_key(plan, "checks"), description=_describe_checks(checks))
    create_link_artifact(
        report.as_uri(),
        link_text=f"{report} on the machine that ran the analysis",
        key=_key(plan, "report"),
        description="Tables, figures, claims, plan and environment on one page.",
    )


def show_verdicts(plan: StudyPlan, verdicts: Sequence[NightVerdictRow], message: str) -> None:
    """Add a night's verdicts to the current run as a table."""
    create_table_artifact(
        [_verdict_cells(row) for row in verdicts], key=_key(plan, "verdicts"), description=f"{message}."
    )


def _verdict_cells(row: NightVerdictRow) -> dict[str, str]:
    def shown(value: float | None, digits: int = 3) -> str:
        return "" if value is None else f"{value:.{digits}f}"

    interval = "" if row.low is None else f" [{shown(row.low)}, {shown(row.high)}]"
    return {
        "model": row.model_name,
        "runtime": row.runtime_contract,
        "bucket": row.bucket,
        "verdict": row.verdict,
        "pairs": f"{row.pair_count} of {row.pair_count + row.unpaired_count}",
        "identical": str(row.identical_count),
        "score": f"{shown(row.mean_score)} (was {shown(row.baseline_mean_score)})" if row.baseline_run_id else "",
        "p (Holm)": shown(row.score_p_holm, 4),
        "tokens": f"{shown(row.token_ratio)}{interval}",
        "tokens p (Holm)": shown(row.token_p_holm, 4),
        "differs": ", ".join(row.differing),
    }


def _describe_checks(checks: pl.DataFrame) -> str:
    failed = checks.filter(~pl.col("is_passed"))
    names = ", ".join(f"{suite}: {name}" for suite, name in failed.select("suite", "check_name").rows())
    return f"{checks.height - failed.height} of {checks.height} checks passed. {f'Broken: {names}.' if names else ''}"


def _picture(drawing: Drawing) -> str:
    """Return a drawing as an image that needs no other file."""
    data = base64.b64encode(drawing.svg.encode()).decode()
    return f"![{drawing.name}](data:image/svg+xml;base64,{data})\n\n{drawing.caption}"


def _key(plan: StudyPlan, name: str) -> str:
    return f"{plan.name}-{name}".replace("_", "-").lower()
