"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

from carryover.tasks.traces.vocabulary import TableFormat

Home = Annotated[Path | None, typer.Option("--home", help="Data folder; default: CARRYOVER_HOME or ./data.")]
Plan = Annotated[str | None, typer.Option(help="Digest of a plan; default: the latest finished plan.")]
Comparison = Annotated[str | None, typer.Option("--plan", help="Digest of a comparison; default: the latest.")]
Results = Annotated[
    str | None, typer.Option(help="Read kept results instead: `laptop_full`, or a folder that `keep` wrote.")
]
Format = Annotated[TableFormat, typer.Option("--format", help="How rows are printed.")]
