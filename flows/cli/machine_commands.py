"""Commands that keep a machine going: servers, workers, merges, its health."""

from typing import Annotated, Literal

import typer

from carryover.flows.cli.folders import find_folders
from carryover.flows.cli.options import Home
from carryover.tasks.services.progress import progress_bar


def serve(
    model: Annotated[str, typer.Argument(help="Folder or hub id of the base model.")],
    *,
    adapter: Annotated[
        list[str] | None, typer.Option("--adapter", metavar="NAME=FOLDER", help="LoRA adapter on it, repeatable.")
    ] = None,
    engine: Annotated[Literal["cpu", "gpu", "vllm"], typer.Option(help="Our server on a CPU or GPU, or vLLM.")] = "cpu",
    name: Annotated[str, typer.Option(help="Name of the base model in requests.")] = "base",
    revision: Annotated[str | None, typer.Option(help="Commit of a base on the hub.")] = None,
    host: Annotated[str, typer.Option(help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen at.")] = 8000,
    context_tokens: Annotated[
        int | None, typer.Option(help="Longest prompt and reply together; default: the model's positions.")
    ] = None,
    max_concurrent: Annotated[int, typer.Option(help="Requests decoded at the same time.")] = 16,
    threads: Annotated[int, typer.Option(help="Threads of our server on a CPU.")] = 1,
    gpu_memory_share: Annotated[
        float, typer.Option(min=0.01, max=1, help="Share of the GPU's memory that a server on one may take.")
    ] = 0.95,
) -> None:
    """Serve a model and its adapters by OpenAI's API until stopped."""
    from carryover.flows.cli.machine.serve import start_server

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
        gpu_memory_share=gpu_memory_share,
    )


def merge(home: Home = None) -> None:
    """Take every landed bundle into the warehouse and replace the readers' copy."""
    from carryover.storage.warehouse.merger import merge as merge_landing

    folders = find_folders(home)
    report = merge_landing(folders.landing, folders.warehouse, open_bar=progress_bar)
    rows = sum(report.row_counts.values())
    typer.echo(f"{report.bundle_count} bundles, {rows} rows in {report.seconds:.1f} s; warehouse {folders.warehouse}")
    for sentence in report.left_out():
        typer.echo(sentence, err=True)


def worker(
    pool: Annotated[str, typer.Option(help="Work pool: `cpu`, or `gpu`, of which it takes one run at a time.")],
    name: Annotated[str | None, typer.Option(help="Name; default: the machine's, the pool's and the GPU's.")] = None,
    home: Home = None,
) -> None:
    """Start a Prefect worker that is named after its GPU and memory."""
    from carryover.flows.cli.machine.worker import start_worker

    start_worker(pool, name, home)


def doctor(
    home: Home = None,
    verify: Annotated[bool, typer.Option("--verify", help="Compare every landed file with its checksum.")] = False,
) -> None:
    """Report installation, sandbox level, warehouse, and a configured server's runs."""
    from carryover.flows.cli.machine.doctor import print_damage, print_health

    print_health(home)
    if verify:
        print_damage(home)
