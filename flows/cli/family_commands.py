"""Commands on task families: check one, write a new one."""

from contextlib import closing
from pathlib import Path
from typing import Annotated, get_args

import typer

BROKEN = 2
"""Exit code where a family breaks a rule."""


def check(
    wanted: Annotated[str, typer.Argument(metavar="FAMILY", help="MODULE:CLASS, FILE.py:CLASS, or a family's name.")],
    seeds: Annotated[int, typer.Option(min=1, help="Instances per bucket.")] = 100,
    contracts: Annotated[
        str, typer.Option(help="Further contracts that teachers play, e.g. recent-3,mine.yaml:NAME.")
    ] = "",
    prompt: Annotated[
        bool, typer.Option("--prompt", help="Print what an agent reads of one instance, and check nothing.")
    ] = False,
) -> None:
    """Check a family without a model, on its first seeds."""
    if prompt:
        _print_prompts(wanted)
        return
    from carryover.tasks.families.check import check_family
    from carryover.tasks.plans.choose_contract import choose_contracts
    from carryover.tasks.services.progress import progress_bar

    further = choose_contracts(name for name in contracts.split(",") if name)
    report = check_family(wanted, seeds, contracts=tuple(further.values()), open_bar=progress_bar)
    for fault in report.faults:
        typer.echo(f"- {fault}")
    if report.faults:
        count = "1 fault" if len(report.faults) == 1 else f"{len(report.faults)} faults"
        typer.echo(f"{report.name}: {count}; correct and check again")
        raise typer.Exit(BROKEN)
    typer.echo(f"{report.name}: {report.instance_count} instances are sound")
    for sentence in report.notes:
        typer.echo(sentence)


def _print_prompts(wanted: str) -> None:
    """Print one instance's opening messages, by prompt set.

    They are a persistent runtime's: other contracts replace its sentences.
    """
    from carryover.tasks.agent.episode_spec import PromptSet
    from carryover.tasks.environment.block_environment import BlockEnvironment

    for prompt_set in get_args(PromptSet):
        environment = BlockEnvironment(wanted, prompt_set=prompt_set)
        with closing(environment):
            messages = environment.opening()
        typer.echo(f"--- {prompt_set} prompts, bucket {environment.bucket}, seed 0, persistent\n")
        for message in messages:
            typer.echo(f"[{message['role']}]\n{message['content']}\n")


def new(name: Annotated[str, typer.Argument(help="Lower case with underscores; the file is NAME.py.")]) -> None:
    """Write a commented file with a family that runs, to be changed."""
    from carryover.tasks.families.new import new_family

    file, class_name = new_family(name, Path.cwd())
    typer.echo(f"{file.name} is a family that runs; change it, then")
    typer.echo(f"  carryover family check {file.name}:{class_name}")
    typer.echo(f"  carryover run --family {file.name}:{class_name} --scale smoke")
