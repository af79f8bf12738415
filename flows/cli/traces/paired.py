"""The command `paired`: two runs or files of traces, by instance."""

from pathlib import Path

import polars as pl
import typer

from carryover.flows.cli.folders import choose_plan, open_warehouse
from carryover.flows.cli.screen import screen
from carryover.tasks.analysis.paired_runs import RUN_METRICS, PairedMetric, pair_runs
from carryover.tasks.analysis.queries import command_sql
from carryover.tasks.analysis.rendering import render_table
from carryover.tasks.readers.episode_rows import ImportedRows
from carryover.tasks.readers.import_setting import ImportSetting
from carryover.tasks.readers.importing import import_traces
from carryover.tasks.readers.tally import Tally
from carryover.tasks.services.errors import UserError
from carryover.tasks.traces.vocabulary import TableFormat


def print_paired(a: str, b: str, home: Path | None, where: str, format: TableFormat) -> None:
    """Print the comparison of two imports or two paths of traces."""
    rows = pair_runs(_episodes(a, home, where), _episodes(b, home, where))
    frame = pl.DataFrame(rows, schema=list(PairedMetric._fields), infer_schema_length=None, orient="row")
    typer.echo(_sentence(rows), err=format == "csv")
    title = f"a: {a}, b: {b}"
    typer.echo(render_table("paired", frame, format, title=title, layout="plain", width=screen().width), nl=False)


def _episodes(run: str, home: Path | None, where: str) -> pl.DataFrame:
    path = Path(run)
    if path.exists():
        return _read(path)
    if "/" in run:  # which no plan's name holds
        raise UserError(f"no file {path}; give the plan of an import, or a file or folder of traces")
    with open_warehouse(home) as warehouse:
        query = f"select * from ({command_sql('plan_metrics')}) as episodes where is_counted and ({where})"
        episodes = warehouse.sql(query, plan_digest=choose_plan(warehouse, run)).polars()
    if episodes.is_empty():
        raise UserError(f"plan {run!r} has no counted episode where {where}; choose another condition")
    return episodes


def _read(path: Path) -> pl.DataFrame:
    tally = Tally()
    setting = ImportSetting(run_id="paired", runtime_contract="persistent")
    rows = [_metrics(found) for found in import_traces(path, setting, tally=tally)]
    for sentence in tally.sentences():
        typer.echo(sentence, err=True)
    if not rows:
        raise UserError(f"no trace in {path}; give the plan of an import, or a file or folder of traces")
    return pl.DataFrame(rows, infer_schema_length=None)


def _metrics(found: ImportedRows) -> dict[str, object]:
    """Return an episode's metrics as `marts.episode_metrics` counts them.

    Tokens that nobody counted are null.
    """
    episode = found.episode
    values = {
        "score": episode.score,
        "total_tokens": episode.total_tokens,
        "completion_tokens": episode.completion_tokens or None,
        "step_count": episode.step_count,
        "missing_name_count": sum(error.is_missing_name for error in found.errors),
    }
    return {"instance_id": episode.instance_id, **{metric: values[metric] for metric in RUN_METRICS}}


def _sentence(rows: list[PairedMetric]) -> str:
    """Return what the scores and the tokens show."""
    sentences = [f"{max(row.instance_count for row in rows)} instances in both"]
    for row in rows:
        if row.metric == "score" and row.difference is not None:
            interval = _interval(row.difference_low, row.difference_high)
            sentences.append(f"score differs by {row.difference:+.3f}{interval}{_chance(row.p_holm)}")
        if row.metric == "total_tokens" and row.ratio is not None:
            sentences.append(
                f"tokens are {row.ratio:.2f} times{_interval(row.ratio_low, row.ratio_high)}{_chance(row.p_holm)}"
            )
    return "; ".join(sentences)


def _interval(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return ""
    return f" [{low:.3f}, {high:.3f}]"


def _chance(p_holm: float | None) -> str:
    if p_holm is None:
        return ""
    return f", p {p_holm:.3g} after Holm"
