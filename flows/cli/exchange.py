"""Commands that take traces in and out: `lint`, `import` and `export`."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from flows.cli.places import find_places, open_warehouse
from storage.errors import StorageError
from storage.landing import LandingZone
from storage.runs import new_run_id
from storage.warehouse import Warehouse
from tasks.analysis.rendering import TableFormat, render_table
from tasks.interchange.formats import Format, export_traces, import_traces
from tasks.interchange.imported import ImportSetting
from tasks.interchange.recorded import RecordedTrace, recorded_traces
from tasks.knapsack.environment import TOOL_NAMES
from tasks.lint.lint import lint_traces
from tasks.lint.sources import read_traces, traces_of_rows
from tasks.lint.summary import summarise_lint
from tasks.lint.trace import CodeTrace
from tasks.running.environment import describe_environment
from tasks.running.errors import UserError
from tasks.running.places import Places
from tasks.traces.study_rows import RunEndRow, RunRow

LAST_ATTEMPTS = "select episode_id from marts.episode_metrics where is_last_attempt"
"""Episodes that are exported where no query chooses others."""

commands = typer.Typer()
Home = Annotated[Path | None, typer.Option("--home", help="Data folder; CARRYOVER_HOME or ./data without it.")]
Output = Annotated[TableFormat, typer.Option("--format", help="How rows are printed.")]


@commands.command()
def lint(
    files: Annotated[list[Path] | None, typer.Argument(help="Chat .jsonl or .parquet, .trace.json, folders.")] = None,
    *,
    contract: Annotated[str | None, typer.Option(help="Contract of traces that declare none.")] = None,
    tools: Annotated[str | None, typer.Option(help="Names that the harness provides, with commas between.")] = None,
    each: Annotated[bool, typer.Option("--each", help="One row per trace, not per declared contract.")] = False,
    home: Home = None,
    format: Output = "rich",
) -> None:
    """Say what the code of traces assumes about its interpreter; the warehouse's own episodes without FILES."""
    traces = (trace for file in files or () for trace in read_traces(file, contract)) if files else _own_traces(home)
    names = tuple(tools.split(",")) if tools else None if files else TOOL_NAMES
    found = lint_traces(traces, tools=names)
    if found.is_empty():
        raise UserError(f"no traces in {', '.join(map(str, files or ['the warehouse']))}; name files that hold some")
    shown = found.with_columns(pl.col(pl.List(pl.String)).list.join(", ")) if each else summarise_lint(found)
    typer.echo(render_table("lint", shown, format), nl=False)


@commands.command(name="export")
def export_episodes(
    folder: Annotated[Path, typer.Argument(help="Where the files go.")],
    to: Annotated[Format, typer.Option("--to", help="Format of the files.")] = "authors",
    query: Annotated[str, typer.Option(help="SQL that returns `episode_id`; the last attempts without it.")] = (
        LAST_ATTEMPTS
    ),
    home: Home = None,
) -> None:
    """Write episodes of the warehouse in another format, each with its contract declared."""
    with open_warehouse(home) as warehouse:
        chosen = warehouse.sql(query).polars()
        if "episode_id" not in chosen.columns:
            raise UserError(f"the query returns {', '.join(chosen.columns)}; it must return episode_id")
        count = export_traces(_recorded(warehouse, chosen["episode_id"].unique()), folder, to)
    typer.echo(f"{count} episodes in {folder}")


@commands.command(name="import")
def import_episodes(
    source: Annotated[Path, typer.Argument(help="Folder with *.trace.json, or a chat .jsonl or .parquet.")],
    *,
    contract: Annotated[str, typer.Option(help="Contract in force, where the files declare none.")],
    train_contract: Annotated[str | None, typer.Option(help="Contract of the model's training traces.")] = None,
    model: Annotated[str, typer.Option(help="Name of the model.")] = "imported",
    is_teacher: Annotated[bool, typer.Option("--teacher", help="Teacher traces, not an evaluation.")] = False,
    bucket: Annotated[str, typer.Option(help="Difficulty of the instances.")] = "easy",
    home: Home = None,
) -> None:
    """Land foreign traces as episodes of scale `import`; `carryover merge` then takes them into the warehouse."""
    places = find_places(home)
    zone = LandingZone(places.landing)
    setting = ImportSetting(
        run_id=new_run_id(),
        runtime_contract=contract,
        train_contract=train_contract,
        purpose="teacher" if is_teacher else "evaluation",
        base="teacher" if is_teacher else "hub",
        model_name=model,
        bucket=bucket,
        split="train" if is_teacher else "evaluation",
    )
    imported = {
        rows.episode.episode_id: rows.tables() for rows in import_traces(source, setting, _known_instances(places))
    }
    if not imported:
        raise UserError(f"no traces in {source}; nothing was imported")
    zone.write({"runs": [_run_row(setting)]}, setting.run_id)
    for tables in imported.values():
        zone.write(tables, setting.run_id)
    end = RunEndRow(run_id=setting.run_id, status="finished", message=str(source), finished_at=datetime.now(UTC))
    zone.write({"run_ends": [end]}, setting.run_id)
    typer.echo(f"{len(imported)} episodes landed as run {setting.run_id}; `carryover merge` takes them in")


def _own_traces(home: Path | None) -> Iterator[CodeTrace]:
    with open_warehouse(home) as warehouse:
        yield from traces_of_rows(
            warehouse.sql("select episode_id, shown_contract from episodes").polars(),
            warehouse.sql("select episode_id, turn, assistant_text, observation from turns").polars(),
            warehouse.sql("select episode_id, turn, step, code from steps").polars(),
        )


def _recorded(warehouse: Warehouse, episode_ids: pl.Series) -> Iterator[RecordedTrace]:
    wanted = pl.LazyFrame({"episode_id": episode_ids})
    frames = (
        warehouse.scan(table).join(wanted, on="episode_id", how="semi") for table in ("episodes", "turns", "steps")
    )
    return recorded_traces(*frames, instances=warehouse.scan("instances"))


def _known_instances(places: Places) -> dict[str, str]:
    """Return content hashes of the warehouse's instances by task id; none where there is no warehouse yet."""
    try:
        with Warehouse.open(places.warehouse) as warehouse:
            return dict(warehouse.sql("select task_id, instance_id from instances").rows())
    except StorageError:
        return {}


def _run_row(setting: ImportSetting) -> RunRow:
    return RunRow(
        run_id=setting.run_id,
        flow="import",
        plan_name="import",
        plan_digest="import",
        scale="import",
        plan_json=setting.model_dump_json(),
        environment_json=json.dumps(describe_environment()),
        started_at=datetime.now(UTC),
    )
