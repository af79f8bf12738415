"""The `carryover` command: run the study, read its warehouse, exchange traces.

`run`, `reevaluate`, `stage`, `cave run`, `worker`, `merge` and `import` write rows to the data folder. `figures`,
`report`, `keep`, `export`, `cave rewards`, `cave costs`, `family new`, `questions --write`, `view --out` and
`lint --save` write files. The other commands write neither.

Commands import what they need when they are called: a core installation has no DuckDB and no Prefect.
"""

import typer

from carryover.flows.cli import (
    cave_commands,
    family_commands,
    flow_commands,
    machine_commands,
    table_commands,
    trace_commands,
)
from carryover.flows.cli.errors import OneLineGroup
from carryover.flows.cli.options import takes_home

app = typer.Typer(
    name="carryover",
    cls=OneLineGroup,
    help="Run the study of agent runtimes, read its warehouse of traces, exchange traces with others.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
# In the order in which the help lists them.
app.command("run", context_settings=flow_commands.PASSED_ON)(flow_commands.run_study)
app.command("reevaluate", context_settings=flow_commands.PASSED_ON)(flow_commands.reevaluate)
app.command()(takes_home(machine_commands.serve))
app.command()(table_commands.query)
app.command()(takes_home(table_commands.schema))
app.command()(table_commands.tables)
app.command()(table_commands.hypotheses)
app.command()(table_commands.keep)
app.command()(table_commands.questions)
app.command()(trace_commands.episode)
app.command()(trace_commands.view)
app.command()(trace_commands.diff)
app.command()(machine_commands.merge)
app.command()(table_commands.figures)
app.command()(table_commands.report)
app.command()(trace_commands.lint)
app.command()(takes_home(trace_commands.probe))
app.command()(trace_commands.paired)
app.command("export")(trace_commands.export_traces)
app.command("import")(trace_commands.import_traces)
app.command()(machine_commands.worker)
app.command()(machine_commands.doctor)

cave = typer.Typer(help="CaveAgent's studies: suites under six arms.", no_args_is_help=True, rich_markup_mode=None)
cave.command("run", context_settings=flow_commands.PASSED_ON)(flow_commands.run_suites)
cave.command("tables")(cave_commands.cave_tables)
cave.command()(cave_commands.rewards)
cave.command()(cave_commands.costs)
app.add_typer(cave, name="cave")

families = typer.Typer(help="Task families: problems of one's own.", no_args_is_help=True, rich_markup_mode=None)
families.command("check")(takes_home(family_commands.check))
families.command("new")(takes_home(family_commands.new))
app.add_typer(families, name="family")
app.add_typer(flow_commands.stages, name="stage")
