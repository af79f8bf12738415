"""The `carryover` command: read the warehouse, replay an episode, compare runs.

Rows are landed and merged by `merge` and `import` alone; `keep`, `questions --write`, `figures`, `report` and `export`
write files beside the warehouse, and all the rest write nothing.
"""

import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console

from carryover.flows.cli.places import find_places, open_warehouse
from carryover.flows.cli.replay import print_episode
from carryover.flows.cli.tables import choose_plan, print_tables
from carryover.storage.errors import QueryError, StorageError
from carryover.tasks.analysis.rendering import TableFormat, render_table
from carryover.tasks.interchange.formats import Format as ExchangeFormat
from carryover.tasks.running.errors import UserError
from carryover.tasks.running.progress import progress_bar

app = typer.Typer(
    name="carryover",
    help="Read the trace warehouse of agent runs, replay episodes, compare runs.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
Home = Annotated[Path | None, typer.Option("--home", help="Data folder; CARRYOVER_HOME or ./data without it.")]
Plan = Annotated[str | None, typer.Option(help="Digest of a plan; the one that finished last without it.")]
Results = Annotated[
    str | None, typer.Option(help="Read kept results instead: `laptop_full`, or a folder that `keep` wrote.")
]
Format = Annotated[TableFormat, typer.Option("--format", help="How rows are printed.")]
SCREEN_ROWS = 200
"""Rows of a query that are drawn for a screen: each takes milliseconds, and a warehouse has millions."""


@app.command()
def query(sql: str, home: Home = None, format: Format = "rich") -> None:
    """Run SQL against the warehouse and print the rows."""
    with open_warehouse(home) as warehouse:
        rows = warehouse.sql(sql).polars()
    shown = rows.head(SCREEN_ROWS) if format == "rich" else rows
    typer.echo(render_table("query", shown, format, layout="plain"), nl=False)
    if shown.height < rows.height:
        typer.echo(f"the first {shown.height} of {rows.height:,} rows; --format csv prints all", err=True)


@app.command()
def tables(
    name: Annotated[str | None, typer.Argument(help="One table, e.g. table_02; all without it.")] = None,
    home: Home = None,
    format: Format = "rich",
    plan: Plan = None,
    results: Results = None,
) -> None:
    """Print the study's tables: ours beside the published values."""
    with open_warehouse(home, results) as warehouse:
        print_tables(warehouse, plan, [name] if name else [], format)


@app.command()
def hypotheses(home: Home = None, format: Format = "rich", plan: Plan = None, results: Results = None) -> None:
    """Print what the laptop study claimed beforehand, what it measured, and whether each claim holds."""
    from carryover.flows.cli.hypotheses import print_verdicts

    with open_warehouse(home, results) as warehouse:
        print_verdicts(warehouse, choose_plan(warehouse, plan), format)


@app.command()
def keep(
    folder: Path,
    home: Home = None,
    plan: Annotated[list[str] | None, typer.Option(help="Digest of a plan, repeatable; the last one without.")] = None,
    where: Annotated[str, typer.Option(help="SQL condition on marts.episode_metrics, to leave cells out.")] = "true",
    recompute: Annotated[
        bool, typer.Option("--recompute", help="Add nothing: compute the statistics of the kept rows again.")
    ] = False,
) -> None:
    """Keep a study's rows per episode, without any text, in a small folder that `--results` reads."""
    from carryover.storage.study.results import keep_results, write_statistics
    from carryover.tasks.analysis.kept import kept_statistics

    compute = partial(kept_statistics, open_bar=progress_bar)
    if recompute:
        typer.echo(f"{write_statistics(folder, compute)} statistics in {folder}")
        return
    with open_warehouse(home) as warehouse:
        count = keep_results(warehouse, plan or [choose_plan(warehouse, None)], folder, compute, where)
    typer.echo(f"{count} episodes in {folder}")


@app.command()
def questions(
    number: Annotated[int | None, typer.Argument(help="One question; all ten without it.")] = None,
    home: Home = None,
    write: Annotated[
        Path | None,
        typer.Option(
            "--write",
            help="Copy of sql/README.md to write answers into: 1 to 5 with `--results`, those on traces without.",
        ),
    ] = None,
    results: Results = None,
) -> None:
    """Ask the ten questions of sql/README.md: each with its query and its answer."""
    from carryover.flows.cli.questions import print_questions, write_answers
    from carryover.tasks.analysis.questions import ABOUT_EPISODES, ABOUT_TRACES

    with open_warehouse(home, results) as warehouse:
        if write is None:
            print_questions(warehouse, number)
            return
        written = write_answers(warehouse, write, ABOUT_EPISODES if results else ABOUT_TRACES)
    typer.echo(f"answers {', '.join(map(str, written))} written into {write}")


@app.command()
def episode(episode_id: str, home: Home = None) -> None:
    """Replay an episode: reflection, code, observation, header, turn by turn. The first digits of an id are enough."""
    with open_warehouse(home) as warehouse:
        print_episode(warehouse, episode_id)


@app.command()
def diff(first_run: str, second_run: str, home: Home = None) -> None:
    """Say in words what differs between two runs: plan, source, environment, servers. First digits of an id will do."""
    from carryover.flows.cli.described_run import describe_run
    from carryover.tasks.plans.difference import describe_difference

    with open_warehouse(home) as warehouse:
        described = [describe_run(warehouse, run) for run in (first_run, second_run)]
    sentences = describe_difference(*described)
    for sentence in sentences or ["nothing differs: same plan, same source, same environment"]:
        typer.echo(sentence)


@app.command()
def merge(home: Home = None) -> None:
    """Take every landed bundle into the warehouse and publish a copy for readers."""
    from carryover.storage.warehouse.merger import merge as merge_landing

    places = find_places(home)
    report = merge_landing(places.landing, places.warehouse, open_bar=progress_bar)
    rows = sum(report.row_counts.values())
    typer.echo(f"{report.bundle_count} bundles, {rows} rows in {report.seconds:.1f} s; warehouse {places.warehouse}")
    for refusal in report.refusals:
        typer.echo(f"quarantined {refusal.path}: {refusal.reason}", err=True)


@app.command()
def figures(
    home: Home = None,
    plan: Plan = None,
    folder: Annotated[Path | None, typer.Option(help="Folder of the files; the data folder's own without it.")] = None,
    results: Results = None,
) -> None:
    """Draw the 2x2 and Figures 2 and 3 from SQL as SVG, each with its caption."""
    from carryover.flows.cli.documents import write_figures

    target = folder or find_places(home).documents / "figures"
    with open_warehouse(home, results) as warehouse:
        for path in write_figures(warehouse, choose_plan(warehouse, plan), target):
            typer.echo(path)


@app.command()
def report(
    home: Home = None,
    plan: Plan = None,
    path: Annotated[Path | None, typer.Option(help="The page; documents/report.html of the data folder.")] = None,
    results: Results = None,
) -> None:
    """Write one self-contained HTML page: tables, figures, claims, plan and environment."""
    from carryover.flows.cli.documents import write_report

    target = path or find_places(home).documents / "report.html"
    with open_warehouse(home, results) as warehouse:
        typer.echo(str(write_report(warehouse, choose_plan(warehouse, plan), target)))


@app.command()
def lint(
    files: Annotated[
        list[Path] | None, typer.Argument(help="Trace files or folders; without any, our own rows.")
    ] = None,
    home: Home = None,
    contract: Annotated[str | None, typer.Option(help="Contract of files that declare none.")] = None,
    per_trace: Annotated[bool, typer.Option("--per-trace", help="One row per trace instead of the summary.")] = False,
    format: Format = "rich",
) -> None:
    """Say what the code of agent traces assumes about its interpreter; no model is asked.

    Tokens here are words and signs of the code, since no tokenizer is at hand for foreign traces.
    """
    from carryover.flows.cli.exchange import lint_files, lint_warehouse

    if files:
        frame = lint_files(files, contract, per_trace=per_trace)
    else:
        with open_warehouse(home) as warehouse:
            frame = lint_warehouse(warehouse, per_trace=per_trace)
    typer.echo(render_table("lint", frame, format, title="contract lint"), nl=False)


@app.command("export")
def export_command(
    folder: Path,
    home: Home = None,
    to: Annotated[ExchangeFormat, typer.Option("--to", help="Layout of the files.")] = "jsonl",
    where: Annotated[str, typer.Option(help="SQL condition on the table episodes.")] = "true",
) -> None:
    """Write the counted episodes for others: the authors' JSON, chat JSON lines, Hugging Face Parquet, or ATIF."""
    from carryover.flows.cli.exchange import export_episodes

    with open_warehouse(home) as warehouse:
        typer.echo(f"{export_episodes(warehouse, folder, to, where)} episodes in {folder}")


@app.command("import")
def import_command(
    source: Path,
    *,
    contract: Annotated[str, typer.Option(help="Contract in force, for recordings that declare none.")],
    home: Home = None,
    model: Annotated[str, typer.Option(help="Name of the model that played.")] = "imported",
    train_contract: Annotated[str | None, typer.Option(help="Contract of the model's training traces.")] = None,
    purpose: Annotated[
        Literal["teacher", "evaluation"], typer.Option(help="A teacher's episodes, or a model's under evaluation.")
    ] = "evaluation",
    bucket: Annotated[str, typer.Option(help="Difficulty bucket of the instances.")] = "easy",
    split: Annotated[
        Literal["train", "evaluation"] | None,
        typer.Option(help="Split of the instances; train for a teacher and evaluation otherwise without it."),
    ] = None,
    scale: Annotated[
        Literal["import", "paper"],
        typer.Option(help="`paper` for Qwen3-8B on the paper's instances: tables then show the differences."),
    ] = "import",
    plan: Annotated[str, typer.Option(help="Name under which `tables --plan` shows the rows.")] = "import",
) -> None:
    """Land foreign episodes, the authors' JSON files or chat data, and merge them; one model and condition a call."""
    from carryover.flows.cli.imports import import_episodes

    setting = {
        "runtime_contract": contract,
        "train_contract": train_contract,
        "model_name": model,
        "purpose": purpose,
        "bucket": bucket,
        "split": split,
        "scale": scale,
        "plan": plan,
    }
    count = import_episodes(source, home, setting)
    typer.echo(f"{count} episodes imported from {source}; `carryover tables --plan {plan}` shows them")


@app.command()
def doctor(
    home: Home = None,
    verify: Annotated[bool, typer.Option("--verify", help="Compare every landed file with its checksum.")] = False,
) -> None:
    """Say what is installed, which sandbox level is reached, and how the warehouse is."""
    from carryover.flows.cli.doctor import print_health
    from carryover.flows.cli.verification import print_damage

    print_health(home)
    if verify:
        print_damage(home)


def run() -> None:
    """Run the command; an error that the user can mend is one line, and DuckDB's words for wrong SQL."""
    try:
        app()
    except QueryError as error:
        Console(stderr=True, highlight=False).print(str(error), markup=False)
        if error.near_names:
            typer.echo(f"near names: {', '.join(error.near_names)}", err=True)
        sys.exit(1)
    except (UserError, StorageError, OSError) as error:
        typer.echo(f"carryover: {error}", err=True)
        sys.exit(1)
