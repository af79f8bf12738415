"""The data folder, warehouse and plan that a command reads."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from carryover.tasks.analysis.queries import command_sql
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.folders import Folders, name_folders

if TYPE_CHECKING:  # a core installation has no DuckDB
    from carryover.storage.warehouse.reader import Warehouse

HOW_TO_FILL = "`make demo` fills it (SCALE=smoke in two minutes), `carryover merge` takes in what has landed"


def find_folders(home: Path | None) -> Folders:
    """Return the data folder.

    Raise `UserError` if there is none: a reader never makes one.
    """
    folders = name_folders(home)
    if not folders.home.is_dir():
        raise UserError(f"no data folder {folders.home}; {HOW_TO_FILL}")
    return folders


@contextmanager
def open_warehouse(home: Path | None, results: str | None = None) -> Iterator["Warehouse"]:
    """Yield a warehouse for reading: the data folder's, or kept results.

    Raise `UserError` if it is missing or holds no run; the message says how to fill it.
    """
    from carryover.storage.warehouse.reader import Warehouse
    from carryover.tasks.analysis.claims import published_claims
    from carryover.tasks.stages.results import open_results
    from carryover.tasks.stages.stale_results import describe_stale, stale_plans

    if results is not None:
        folder = find_results(results)
        if stale := describe_stale(stale_plans(folder)):
            typer.echo(stale, err=True)
        with open_results(folder, published_claims(folder.name)) as warehouse:
            yield warehouse
        return
    folders = find_folders(home)
    if not folders.warehouse.exists():
        raise UserError(f"no warehouse at {folders.warehouse}; {HOW_TO_FILL}")
    with Warehouse.open(folders.warehouse) as warehouse:
        if not warehouse.sql("select 1 from runs limit 1"):
            raise UserError(f"the warehouse {folders.warehouse} is empty; {HOW_TO_FILL}")
        if not warehouse.has_current_marts():
            outdated = f"the metrics in {folders.warehouse} are of another version"
            typer.echo(f"{outdated}; `carryover merge` computes them again", err=True)
        yield warehouse


def find_results(name_or_folder: str) -> Path:
    """Return kept results by folder or by installed name.

    Raise `UserError` if there are none.
    """
    own = Path(str(files("carryover.sql") / "results"))
    names = []
    if own.is_dir():
        names = sorted(entry.name for entry in own.iterdir() if entry.is_dir())
    if name_or_folder in names:
        return own / name_or_folder
    if Path(name_or_folder).is_dir():
        return Path(name_or_folder).resolve()  # `.` has no name
    raise UserError(
        f"no results {name_or_folder!r}; give a folder that `carryover keep` wrote, or one of {', '.join(names)}"
    )


def choose_plan(warehouse: "Warehouse", plan_digest: str | None) -> str:
    """Return the plan that was named.

    By default the latest finished one, or the only one.

    Raise `UserError` if the plan has no run here, or several have and no study has finished.
    """
    known = [digest for (digest,) in warehouse.sql(command_sql("known_plans")).rows()]
    if plan_digest is not None and plan_digest not in known:
        raise UserError(f"no run of plan {plan_digest!r}; the latest plans are {', '.join(known[:5])}")
    chosen = plan_digest or warehouse.latest_plan() or (known[0] if len(known) == 1 else None)
    if chosen is None:
        raise UserError(f"no study has finished; name one of the plans with --plan: {', '.join(known[:5])}")
    return chosen
