"""Commands on traces: replay, comparison, lint, probe, import, export."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from carryover.flows.cli.folders import open_warehouse
from carryover.flows.cli.options import Format, Home, Plan
from carryover.tasks.lint.formats import LintFormat
from carryover.tasks.probe.formats import ProbeFormat
from carryover.tasks.traces.vocabulary import ExportFormat, Purpose, Split


def episode(
    episode_id: Annotated[str | None, typer.Argument(help="Id, its first digits, or an instance's name.")] = None,
    home: Home = None,
    plan: Plan = None,
    *,
    cell: Annotated[str | None, typer.Option(help="Cell of the episode instead of an id, e.g. 'P->S'.")] = None,
    instance: Annotated[
        str | None, typer.Option(help="Its instance: the number in order of seeds, or the first digits of its id.")
    ] = None,
    pair: Annotated[bool, typer.Option("--pair", help="Print the same instance under another cell beside it.")] = False,
) -> None:
    """Replay an episode turn by turn, or with --pair two."""
    from carryover.flows.cli.traces.pair import Asked, print_asked

    with open_warehouse(home) as warehouse:
        print_asked(warehouse, plan, Asked(episode_id, cell, instance), is_pair=pair)


def view(
    traces: Annotated[
        Path | None,
        typer.Argument(help="Foreign traces, a file or folder of any known layout; default: the warehouse."),
    ] = None,
    *,
    home: Home = None,
    plan: Plan = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", help="Write a file that ends with .html instead of serving; a new folder for any other or many."
        ),
    ] = None,
    where: Annotated[str, typer.Option(help="SQL condition on marts.episode_metrics, for --out.")] = "true",
    contract: Annotated[str, typer.Option(help="Contract of foreign traces that declare none.")] = "persistent",
    host: Annotated[str, typer.Option(help="Address to listen at; any but loopback asks for a token.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen at; 0 takes a free one.")] = 0,
    opens: Annotated[bool, typer.Option("--open/--no-open", help="Open a browser.")] = True,
) -> None:
    """Look at the study and its traces in a browser."""
    from carryover.flows.cli.traces.view import open_viewed, serve_viewer, write_viewer

    with open_viewed(traces, home, contract) as warehouse:
        if out is None:
            serve_viewer(warehouse, plan, host=host, port=port, opens=opens)
        else:
            typer.echo(write_viewer(warehouse, plan, out, where))


def diff(first_run: str, second_run: str, home: Home = None) -> None:
    """Compare two runs: plan, source, environment, servers."""
    from carryover.flows.cli.traces.replay import describe_run
    from carryover.tasks.plans.difference import describe_difference

    with open_warehouse(home) as warehouse:
        described = [describe_run(warehouse, run) for run in (first_run, second_run)]
    for sentence in describe_difference(*described) or ["nothing differs: same plan, same source, same environment"]:
        typer.echo(sentence)


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
    runtime: Annotated[
        str | None,
        typer.Option(help="The same for a probed runtime: a file of `probe --format json`, or a published one's name."),
    ] = None,
    per_trace: Annotated[bool, typer.Option("--per-trace", help="One row per trace instead of the summary.")] = False,
    save: Annotated[
        list[Path] | None,
        typer.Option(help="File for the rows per trace (.csv, .jsonl, .parquet) or a page (.html); repeatable."),
    ] = None,
    format: Annotated[LintFormat, typer.Option("--format", help="How the findings are printed.")] = "rich",
) -> None:
    """Report what agents' code assumes about its interpreter, without a model.

    Tokens are words and symbols of the code; foreign traces name no tokenizer.
    """
    from carryover.flows.cli.traces import lint as linting
    from carryover.tasks.readers.tally import Tally

    tally = Tally()
    output = linting.LintOutput(format, per_trace, save or (), bool(against or runtime))
    losses = linting.choose_losses(against, runtime)
    if files:
        code = linting.report_lint(linting.lint_files(files, contract, tally), tally, losses, output)
    else:
        with open_warehouse(home) as warehouse:
            code = linting.report_lint(linting.lint_warehouse(warehouse, plan), tally, losses, output)
    raise typer.Exit(code)


def probe(
    runtime: Annotated[
        str,
        typer.Argument(
            help="A name (persistent, stateless, ipykernel, smolagents, ...), mcp:SERVER, MODULE:CLASS, FILE.py:CLASS, "
            "or a command."
        ),
    ],
    *,
    claims: Annotated[
        str | None,
        typer.Option(help="persistent, stateless, or a file with a prompt; exit with 2 where the runtime breaks it."),
    ] = None,
    python: Annotated[
        str | None, typer.Option(help="Interpreter of the environment that holds a foreign runtime's package.")
    ] = None,
    channel: Annotated[
        list[str] | None, typer.Option(help="Channel to probe beside names; repeatable. Default: all.")
    ] = None,
    tool: Annotated[str | None, typer.Option(help="Tool of an MCP server that has several for code.")] = None,
    hostile: Annotated[
        bool, typer.Option("--hostile", help="Run hostile blocks too; only against a runtime on this machine.")
    ] = False,
    format: Annotated[ProbeFormat, typer.Option("--format", help="How the report is printed.")] = "rich",
) -> None:
    """Measure what a Python runtime keeps after blocks, errors and resets."""
    from carryover.flows.cli.traces.probe import ProbeRequest, report_probe

    raise typer.Exit(report_probe(ProbeRequest(runtime, claims, python, tool, hostile, channel or ()), format))


def paired(
    a: Annotated[str, typer.Argument(help="Plan of an import, or a file or folder of traces.")],
    b: Annotated[str, typer.Argument(help="What it is compared with.")],
    home: Home = None,
    where: Annotated[str, typer.Option(help="SQL condition on marts.episode_metrics, for plans.")] = "true",
    format: Format = "rich",
) -> None:
    """Compare two imported runs by instance, with tests and intervals."""
    from carryover.flows.cli.traces.paired import print_paired

    print_paired(a, b, home, where, format)


def export_traces(
    folder: Path,
    home: Home = None,
    to: Annotated[ExportFormat, typer.Option("--to", help="Layout of the files.")] = "jsonl",
    where: Annotated[str, typer.Option(help="SQL condition on the table episodes.")] = "true",
    plan: Plan = None,
) -> None:
    """Export finished episodes in a format of others."""
    from carryover.flows.cli.traces.exchange import export_episodes

    with open_warehouse(home) as warehouse:
        typer.echo(f"{export_episodes(warehouse, folder, to, where, plan)} episodes in {folder}")


def import_traces(
    source: Path,
    *,
    contract: Annotated[str, typer.Option(help="Contract in force, for recordings that declare none.")],
    home: Home = None,
    model: Annotated[str, typer.Option(help="Name of the model that played.")] = "imported",
    train_contract: Annotated[str | None, typer.Option(help="Contract of the model's training traces.")] = None,
    purpose: Annotated[
        Purpose, typer.Option(help="A teacher's episodes, or a model's under evaluation.")
    ] = "evaluation",
    family: Annotated[
        str | None,
        typer.Option(help="Task family of traces that declare none: `knapsack` prints the paper's tables too."),
    ] = None,
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
    """Land and merge foreign episodes; options supply missing columns."""
    from carryover.tasks.stages.imports import import_episodes

    setting = {"train_contract": train_contract, "purpose": purpose, "bucket": bucket, "split": split, "scale": scale}
    setting |= {"runtime_contract": contract, "model_name": model, "plan": plan, "family": family}
    imported = import_episodes(source, home, setting)
    for sentence in (*imported.unread, *imported.passed_over, *imported.merged.left_out()):
        typer.echo(sentence, err=True)
    counted = f"{imported.episode_count} episodes imported from {source}, {imported.step_count} executed blocks"
    typer.echo(f"{counted}; `carryover tables --plan {plan}` shows them")
