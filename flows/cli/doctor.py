"""The state of the installation, of the warehouse and of the landed files."""

from pathlib import Path

import typer
from rich.table import Table

from carryover.flows.cli.folders import HOW_TO_FILL, find_folders
from carryover.flows.cli.screen import screen
from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.warehouse.readers_copy import has_current_copy
from carryover.storage.zone.landing import LandingZone
from carryover.storage.zone.quarantine import find_damage
from carryover.tasks.analysis.queries import command_sql
from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.runtime.spec import RuntimeSpec
from carryover.tasks.services.environment import describe_environment
from carryover.tasks.services.errors import UserError

COUNTED = ("runs", "instances", "episodes", "steps", "training_runs", "statistics", "quarantine")


def print_health(home: Path | None) -> None:
    """Print versions, the sandbox level that agent code gets here, and what the warehouse holds."""
    console = screen()
    environment = describe_environment()
    machine = "Python {python} on {system}, {processor_count} cores, GPU ".format(**environment)
    console.print(machine + (environment["gpu"] or "none"))
    versions = Table("package", "version", box=None)
    for package, version in environment["packages"].items():
        versions.add_row(package, version)
    console.print(versions)
    try:
        runtime = open_runtime(RuntimeSpec())
    except UserError as error:
        console.print(f"sandbox broken: {error}")
    else:
        console.print(f"sandbox level {runtime.sandbox_level}")
        runtime.close()
    for line in _warehouse_lines(home):
        console.print(line)


def print_damage(home: Path | None) -> None:
    """Compare every landed file with its checksum; raise `UserError` for damage, or where there is no data folder."""
    zone = LandingZone(find_folders(home).landing)
    damage = find_damage(zone)
    for refusal in damage:
        typer.echo(f"{refusal.path}: {refusal.reason}")
    if damage:
        raise UserError(
            f"{len(damage)} damaged bundles in {zone.url}; restore their files from a backup, or run "
            "`carryover merge`, which quarantines those that are not merged yet"
        )
    typer.echo(f"{len(zone.manifests().bundles)} bundles in {zone.url} match their checksums")


def _warehouse_lines(home: Path | None) -> list[str]:
    try:
        folders = find_folders(home)
        landed = {manifest.bundle_id for manifest in LandingZone(folders.landing).manifests().bundles}
    except UserError as error:
        return [str(error)]
    lines = [f"landing zone {folders.landing}: {len(landed)} bundles"]
    if not folders.warehouse.exists():
        return [*lines, f"no warehouse at {folders.warehouse}; {HOW_TO_FILL}"]
    try:
        with Warehouse.open(folders.warehouse) as warehouse:
            counts = [f"{table} {warehouse.sql(f'select count(*) from {table}').rows()[0][0]:,}" for table in COUNTED]
            waiting = landed - {bundle_id for (bundle_id,) in warehouse.sql(command_sql("merged_bundles")).rows()}
            ((run_count, episode_count),) = warehouse.sql(command_sql("other_sources")).rows()
            broken = [row[0] for row in warehouse.sql(command_sql("broken_checks")).rows()]
    except UserError as error:
        return [*lines, f"warehouse {folders.warehouse}: {error}"]
    lines.append(f"warehouse {folders.warehouse}: {', '.join(counts)}")
    if waiting:
        lines.append(f"{len(waiting)} landed bundles are not merged yet; `carryover merge` takes them in")
    elif not has_current_copy(folders.warehouse):
        lines.append("the readers' copy is older than the warehouse; `carryover merge` replaces it")
    if run_count:
        found = f"{run_count} re-evaluations ran on other source than their study: {episode_count:,} episodes"
        lines.append(f"{found}; their rows in night_verdicts name what differs")
    if broken:
        lines.append(f"latest checks failed: {', '.join(broken)}; see the table check_results")
    return lines
