"""The `carryover` command: run the study, read its warehouse, exchange traces.

`run`, `reevaluate`, `stage`, `merge` and `import` write to the data folder; `keep`, `questions --write`, `figures`,
`report` and `export` write files beside it; the other commands only read.

Commands import what they need when they are called: a core installation has no DuckDB and no Prefect.
"""

from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from carryover.flows.cli.errors import OneLineGroup
from carryover.flows.cli.flow_commands import PASSED_ON, reevaluate, run_study, run_suites, stages
from carryover.flows.cli.folders import choose_plan, find_folders, open_warehouse
from carryover.flows.cli.screen import screen
from carryover.tasks.analysis.queries import table_names, table_query
from carryover.tasks.lint.formats import LintFormat
from carryover.tasks.probe.formats import ProbeFormat
from carryover.tasks.services.progress import progress_bar
from carryover.tasks.services.whole_files import write_whole
from carryover.tasks.traces.vocabulary import ExportFormat, Purpose, Split, TableFormat

app = typer.Typer(
    name="carryover",
    cls=OneLineGroup,
    help="Run the study of agent runtimes, read its warehouse of traces, exchange traces with others.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
Home = Annotated[Path | None, typer.Option("--home", help="Data folder; default: CARRYOVER_HOME or ./data.")]
Plan = Annotated[str | None, typer.Option(help="Digest of a plan; default: the latest finished plan.")]
Comparison = Annotated[str | None, typer.Option("--plan", help="Digest of a comparison; default: the latest.")]
Results = Annotated[
    str | None, typer.Option(help="Read kept results instead: `laptop_full`, or a folder that `keep` wrote.")
]
Format = Annotated[TableFormat, typer.Option("--format", help="How rows are printed.")]
SCREEN_ROWS = 200
"""Rows of a query that are drawn for a screen: each takes milliseconds, and a warehouse has millions."""
cave = typer.Typer(help="CaveAgent's studies: suites under five arms.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(cave, name="cave")
app.add_typer(stages, name="stage")
app.command("run", context_settings=PASSED_ON)(run_study)
app.command("reevaluate", context_settings=PASSED_ON)(reevaluate)
cave.command("run", context_settings=PASSED_ON)(run_suites)


@app.command()
def serve(
    model: Annotated[str, typer.Argument(help="Folder or hub id of the base model.")],
    *,
    adapter: Annotated[
        list[str] | None, typer.Option("--adapter", metavar="NAME=FOLDER", help="LoRA adapter on it, repeatable.")
    ] = None,
    engine: Annotated[Literal["cpu", "vllm"], typer.Option(help="Our server on a CPU, or vLLM on a GPU.")] = "cpu",
    name: Annotated[str, typer.Option(help="Name of the base model in requests.")] = "base",
    revision: Annotated[str | None, typer.Option(help="Commit of a base on the hub.")] = None,
    host: Annotated[str, typer.Option(help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen at.")] = 8000,
    context_tokens: Annotated[
        int | None, typer.Option(help="Longest prompt and reply together; default: the model's positions.")
    ] = None,
    max_concurrent: Annotated[int, typer.Option(help="Requests decoded at the same time.")] = 16,
    threads: Annotated[int, typer.Option(help="Threads of a CPU server.")] = 1,
) -> None:
    """Serve a model and its adapters by OpenAI's API until stopped; requests choose one by name."""
    from carryover.flows.cli.serve import start_server

    start_server(
        model,
        adapter or [],
        engine=engine,
        name=name,
        revision=revision,
        host=host,
        port=port,
        context_tokens=context_tokens,
        max_concurrent=max_concurrent,
        threads=threads,
    )


@app.command()
def query(sql: str, home: Home = None, format: Format = "rich") -> None:
    """Run one SQL query against the warehouse and print the rows."""
    from carryover.tasks.analysis.rendering import render_table

    with open_warehouse(home) as warehouse:
        rows = warehouse.sql(sql).polars()
    shown = rows.head(SCREEN_ROWS) if format == "rich" else rows
    typer.echo(render_table("query", shown, format, layout="plain", width=screen().width), nl=False)
    if shown.height < rows.height:
        typer.echo(f"the first {shown.height} of {rows.height:,} rows; --format csv prints all", err=True)


@app.command()
def schema(
    relation: Annotated[str | None, typer.Argument(help="A table or view, e.g. episodes; default: all.")] = None,
    format: Format = "rich",
) -> None:
    """Describe the warehouse: every table and view, or the columns of one."""
    from carryover.storage.warehouse.schema_reference import describe_schema
    from carryover.tasks.analysis.rendering import render_table

    frame = describe_schema(relation)
    typer.echo(render_table("schema", frame, format, layout="plain", width=screen().width), nl=False)


@app.command()
def tables(
    name: Annotated[
        str | None, typer.Argument(help="One table, e.g. table_2; default: all, on a screen without claims.")
    ] = None,
    home: Home = None,
    format: Format = "rich",
    plan: Plan = None,
    results: Results = None,
) -> None:
    """Print the study's tables: ours beside the published values."""
    from carryover.flows.cli.tables import print_tables

    with open_warehouse(home, results) as warehouse:
        names = [name] if name else [each for each in table_names() if each != "claims" or format != "rich"]
        print_tables(warehouse, choose_plan(warehouse, plan), names, format)


@cave.command("tables")
def cave_tables(
    name: Annotated[str | None, typer.Argument(help="One table, e.g. cave_table_3; default: all.")] = None,
    home: Home = None,
    format: Format = "rich",
    plan: Comparison = None,
) -> None:
    """Print the tables of CaveAgent's studies: ours beside the published values."""
    from carryover.flows.cli.tables import choose_comparison, print_tables

    names = [name] if name else table_names(is_cave=True)
    with open_warehouse(home) as warehouse:
        print_tables(warehouse, choose_comparison(warehouse, plan), names, format)


@cave.command()
def rewards(file: Path, home: Home = None) -> None:
    """Write every finished episode of CaveAgent's suites as a JSON line: its messages, and the reward of each turn."""
    from carryover.flows.cli.exchange import write_rewards

    with open_warehouse(home) as warehouse:
        typer.echo(f"{write_rewards(warehouse, file)} episodes in {file}")


@cave.command()
def costs(folder: Path, home: Home = None, plan: Comparison = None) -> None:
    """Write what each arm costs in tokens, by turns and by size of data: cave_costs.svg and cave_costs.md."""
    from carryover.flows.cli.tables import choose_comparison, read_table
    from carryover.tasks.cave.arms.costs import cost_page, draw_costs

    with open_warehouse(home) as warehouse:
        rows = read_table(warehouse, table_query("cave_costs"), choose_comparison(warehouse, plan))
    rows = rows.filter(instruction="none")
    folder.mkdir(exist_ok=True)
    for name, text in (("cave_costs.svg", draw_costs(rows)), ("cave_costs.md", cost_page(rows))):
        write_whole(folder / name, text)
        typer.echo(folder / name)


@app.command()
def hypotheses(home: Home = None, format: Format = "rich", plan: Plan = None, results: Results = None) -> None:
    """Print what the laptop study claimed beforehand, what it measured, and whether each claim holds."""
    from carryover.flows.cli.tables import print_verdicts

    with open_warehouse(home, results) as warehouse:
        print_verdicts(warehouse, choose_plan(warehouse, plan), format)


@app.command()
def keep(
    folder: Path,
    home: Home = None,
    plan: Annotated[
        list[str] | None, typer.Option(help="Digest of a plan, repeatable; default: the latest finished plan.")
    ] = None,
    where: Annotated[str, typer.Option(help="SQL condition on marts.episode_metrics; default: all.")] = "true",
    recompute: Annotated[
        bool, typer.Option("--recompute", help="Only compute the statistics of the kept rows again.")
    ] = False,
) -> None:
    """Keep a study's rows per episode, without any text, in a small folder that `--results` reads."""
    from carryover.tasks.analysis.compute import kept_statistics
    from carryover.tasks.stages.results import keep_results, write_statistics

    compute = partial(kept_statistics, open_bar=progress_bar)
    if recompute:
        typer.echo(f"{write_statistics(folder, compute)} statistics in {folder}")
        return
    with open_warehouse(home) as warehouse:
        plans = [choose_plan(warehouse, digest) for digest in plan or [None]]
        count = keep_results(warehouse, plans, folder, compute, where)
    typer.echo(f"{count} episodes in {folder}")


@app.command()
def questions(
    number: Annotated[int | None, typer.Argument(help="One question; default: all ten.")] = None,
    home: Home = None,
    write: Annotated[
        Path | None,
        typer.Option(
            "--write",
            help="Copy of sql/README.md to write answers into: 1 to 5 with `--results`, those on traces without.",
        ),
    ] = None,
    plan: Plan = None,
    results: Results = None,
) -> None:
    """Ask the ten questions of sql/README.md: each with its query and its answer."""
    from carryover.flows.cli.tables import print_questions, write_answers
    from carryover.tasks.analysis.questions import ABOUT_EPISODES, ABOUT_TRACES

    with open_warehouse(home, results) as warehouse:
        digest = choose_plan(warehouse, plan)
        if write is None:
            print_questions(warehouse, digest, number)
            return
        written = write_answers(warehouse, digest, write, ABOUT_EPISODES if results else ABOUT_TRACES)
    typer.echo(f"answers {', '.join(map(str, written))} written into {write}")


@app.command()
def episode(episode_id: str, home: Home = None, plan: Plan = None) -> None:
    """Replay an episode turn by turn: reflection, code, observation, live names. An unambiguous id prefix is enough."""
    from carryover.flows.cli.replay import print_episode

    with open_warehouse(home) as warehouse:
        print_episode(warehouse, episode_id, plan)


@app.command()
def diff(first_run: str, second_run: str, home: Home = None) -> None:
    """Say what differs between two runs: plan, source, environment, servers. An unambiguous id prefix is enough."""
    from carryover.flows.cli.replay import describe_run
    from carryover.tasks.plans.difference import describe_difference

    with open_warehouse(home) as warehouse:
        described = [describe_run(warehouse, run) for run in (first_run, second_run)]
    for sentence in describe_difference(*described) or ["nothing differs: same plan, same source, same environment"]:
        typer.echo(sentence)


@app.command()
def merge(home: Home = None) -> None:
    """Take every landed bundle into the warehouse and replace the readers' copy."""
    from carryover.storage.warehouse.merger import merge as merge_landing

    folders = find_folders(home)
    report = merge_landing(folders.landing, folders.warehouse, open_bar=progress_bar)
    rows = sum(report.row_counts.values())
    typer.echo(f"{report.bundle_count} bundles, {rows} rows in {report.seconds:.1f} s; warehouse {folders.warehouse}")
    for refusal in report.refusals:
        typer.echo(f"quarantined {refusal.path}: {refusal.reason}", err=True)


@app.command()
def figures(
    home: Home = None,
    plan: Plan = None,
    folder: Annotated[
        Path | None, typer.Option(help="Folder of the files; default: documents/figures in the data folder.")
    ] = None,
    results: Results = None,
) -> None:
    """Draw the 2x2 and Figures 2 and 3 from SQL as SVG, each with its caption."""
    from carryover.flows.cli.documents import write_figures

    target = folder or find_folders(home).documents / "figures"
    with open_warehouse(home, results) as warehouse:
        digest = choose_plan(warehouse, plan)
        if folder is None:
            target.parent.mkdir(exist_ok=True)
        for path in write_figures(warehouse, digest, target):
            typer.echo(path)


@app.command()
def report(
    home: Home = None,
    plan: Plan = None,
    path: Annotated[
        Path | None, typer.Option(help="The page; default: documents/report.html in the data folder.")
    ] = None,
    results: Results = None,
) -> None:
    """Write one self-contained HTML page: tables, figures, claims, plan and environment."""
    from carryover.flows.cli.documents import write_report

    target = path or find_folders(home).documents / "report.html"
    with open_warehouse(home, results) as warehouse:
        digest = choose_plan(warehouse, plan)
        if path is None:
            target.parent.mkdir(exist_ok=True)
        typer.echo(write_report(warehouse, digest, target))


@app.command()
def lint(
    files: Annotated[
        list[Path] | None, typer.Argument(help="Trace files or folders; default: the warehouse's episodes.")
    ] = None,
    *,
    home: Home = None,
    contract: Annotated[str | None, typer.Option(help="Contract of files that declare none.")] = None,
    plan: Plan = None,
    against: Annotated[
        str | None,
        typer.Option(help="Exit with 2 where episodes fail in this runtime: stateless, fresh-process."),
    ] = None,
    per_trace: Annotated[bool, typer.Option("--per-trace", help="One row per trace instead of the summary.")] = False,
    save: Annotated[
        list[Path] | None,
        typer.Option(help="File for the rows per trace (.csv, .jsonl, .parquet) or a page (.html); repeatable."),
    ] = None,
    format: Annotated[LintFormat, typer.Option("--format", help="How the findings are printed.")] = "rich",
) -> None:
    """Report what the code of agent traces assumes about its interpreter, without a model.

    Tokens are words and symbols of the code; foreign traces name no tokenizer.
    """
    from carryover.flows.cli import lint as linting
    from carryover.tasks.readers.tally import Tally

    tally = Tally()
    output = linting.LintOutput(format, per_trace, save or ())
    if files:
        code = linting.report_lint(linting.lint_files(files, contract, tally), tally, against, output)
    else:
        with open_warehouse(home) as warehouse:
            code = linting.report_lint(linting.lint_warehouse(warehouse, plan), tally, against, output)
    raise typer.Exit(code)


@app.command()
def probe(
    runtime: Annotated[
        str, typer.Argument(help="persistent, stateless, ipykernel; MODULE:CLASS; or a command in quotes.")
    ],
    claims: Annotated[
        Literal["persistent", "stateless"] | None,
        typer.Option(help="What the runtime claims; exit with 2 where it breaks the claim."),
    ] = None,
    format: Annotated[ProbeFormat, typer.Option("--format", help="How the report is printed.")] = "rich",
) -> None:
    """Measure what a Python runtime keeps after a block, an error and a reset, channel by channel."""
    from carryover.flows.cli.probe import report_probe

    raise typer.Exit(report_probe(runtime, claims, format))


@app.command()
def paired(
    a: Annotated[str, typer.Argument(help="Plan of an import, or a file or folder of traces.")],
    b: Annotated[str, typer.Argument(help="What it is compared with.")],
    home: Home = None,
    where: Annotated[str, typer.Option(help="SQL condition on marts.episode_metrics, for plans.")] = "true",
    format: Format = "rich",
) -> None:
    """Compare two imported runs by instance: signed-rank tests after Holm, bootstrap intervals, ratio of tokens."""
    from carryover.flows.cli.paired import print_paired

    print_paired(a, b, home, where, format)


@app.command("export")
def export_command(
    folder: Path,
    home: Home = None,
    to: Annotated[ExportFormat, typer.Option("--to", help="Layout of the files.")] = "jsonl",
    where: Annotated[str, typer.Option(help="SQL condition on the table episodes.")] = "true",
    plan: Plan = None,
) -> None:
    """Write the finished episodes for others: the authors' JSON, chat JSON lines, Hugging Face Parquet, or ATIF."""
    from carryover.flows.cli.exchange import export_episodes

    with open_warehouse(home) as warehouse:
        typer.echo(f"{export_episodes(warehouse, folder, to, where, plan)} episodes in {folder}")


@app.command("import")
def import_command(
    source: Path,
    *,
    contract: Annotated[str, typer.Option(help="Contract in force, for recordings that declare none.")],
    home: Home = None,
    model: Annotated[str, typer.Option(help="Name of the model that played.")] = "imported",
    train_contract: Annotated[str | None, typer.Option(help="Contract of the model's training traces.")] = None,
    purpose: Annotated[
        Purpose, typer.Option(help="A teacher's episodes, or a model's under evaluation.")
    ] = "evaluation",
    bucket: Annotated[str, typer.Option(help="Difficulty bucket of the instances.")] = "easy",
    split: Annotated[
        Split | None,
        typer.Option(help="Split of the instances; default: train for a teacher, else evaluation."),
    ] = None,
    scale: Annotated[
        Literal["import", "paper"],
        typer.Option(help="`paper` for Qwen3-8B on the paper's instances: tables then show the differences."),
    ] = "import",
    plan: Annotated[str, typer.Option(help="Name under which `tables --plan` shows the rows.")] = "import",
) -> None:
    """Land and merge foreign episodes of any known layout; options supply missing columns."""
    from carryover.tasks.stages.imports import import_episodes

    setting = {"train_contract": train_contract, "purpose": purpose, "bucket": bucket, "split": split, "scale": scale}
    told = import_episodes(source, home, setting | {"runtime_contract": contract, "model_name": model, "plan": plan})
    for sentence in told.unread:
        typer.echo(sentence, err=True)
    counted = f"{told.episode_count} episodes imported from {source}, {told.step_count} executed blocks"
    typer.echo(f"{counted}; `carryover tables --plan {plan}` shows them")


@app.command()
def worker(
    pool: Annotated[str, typer.Option(help="Work pool: `cpu`, or `gpu`, of which it takes one run at a time.")],
    name: Annotated[str | None, typer.Option(help="Name; default: the machine's, the pool's and the GPU's.")] = None,
    home: Home = None,
) -> None:
    """Start a Prefect worker whose name says which GPU and memory its machine has."""
    from carryover.flows.cli.worker import start_worker

    start_worker(pool, name, home)


@app.command()
def doctor(
    home: Home = None,
    verify: Annotated[bool, typer.Option("--verify", help="Compare every landed file with its checksum.")] = False,
) -> None:
    """Report the installation, the sandbox level, the warehouse, and the runs of a configured Prefect server."""
    from carryover.flows.cli.doctor import print_damage, print_health

    print_health(home)
    if verify:
        print_damage(home)
