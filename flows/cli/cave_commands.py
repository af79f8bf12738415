"""Commands of CaveAgent's studies: `carryover cave`."""

from pathlib import Path
from typing import Annotated

import typer

from carryover.flows.cli.folders import open_warehouse
from carryover.flows.cli.options import Comparison, Format, Home
from carryover.tasks.analysis.queries import table_names, table_query
from carryover.tasks.services.whole_files import write_whole


def cave_tables(
    name: Annotated[str | None, typer.Argument(help="One table, e.g. cave_table_3; default: all.")] = None,
    home: Home = None,
    format: Format = "rich",
    plan: Comparison = None,
) -> None:
    """Print the tables of CaveAgent's studies: ours beside the published values."""
    from carryover.flows.cli.results.tables import choose_comparison, print_tables

    names = [name] if name else table_names(is_cave=True)
    with open_warehouse(home) as warehouse:
        print_tables(warehouse, choose_comparison(warehouse, plan), names, format)


def rewards(file: Path, home: Home = None) -> None:
    """Write each episode of CaveAgent's suites as JSON, with rewards per turn."""
    from carryover.flows.cli.traces.exchange import write_rewards

    with open_warehouse(home) as warehouse:
        typer.echo(f"{write_rewards(warehouse, file)} episodes in {file}")


def costs(folder: Path, home: Home = None, plan: Comparison = None) -> None:
    """Write each arm's tokens, by turn and by size of data.

    The files are cave_costs.svg and cave_costs.md.
    """
    from carryover.flows.cli.results.tables import choose_comparison, read_table
    from carryover.tasks.cave.arms.costs import cost_page, draw_costs

    with open_warehouse(home) as warehouse:
        rows = read_table(warehouse, table_query("cave_costs"), choose_comparison(warehouse, plan))
    rows = rows.filter(instruction="none")
    folder.mkdir(exist_ok=True)
    for name, text in (("cave_costs.svg", draw_costs(rows)), ("cave_costs.md", cost_page(rows))):
        write_whole(folder / name, text)
        typer.echo(folder / name)
