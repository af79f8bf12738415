"""The state of the installation, warehouse, landed files and Prefect server."""

from pathlib import Path
from typing import NamedTuple

import typer

from carryover.flows.cli.folders import HOW_TO_FILL, find_folders
from carryover.flows.cli.machine.server_health import server_lines
from carryover.flows.cli.screen import screen
from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.warehouse.readers_copy import has_current_copy
from carryover.storage.zone.bundles import manifest_path
from carryover.storage.zone.landing import LandingZone
from carryover.storage.zone.quarantine import find_damage, find_newer
from carryover.tasks.analysis.queries import command_sql
from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.services.environment import describe_environment
from carryover.tasks.services.errors import UserError

COUNTED = ("runs", "instances", "episodes", "steps", "training_runs", "statistics", "quarantine")


def print_health(home: Path | None) -> None:
    """Print versions, sandbox level, and the state of warehouse and server."""
    console = screen()
    environment = describe_environment()
    machine = "Python {python} on {system}, {processor_count} cores, GPU ".format(**environment)
    console.print(machine + (environment["gpu"] or "none"))
    console.print(", ".join(f"{package} {version}" for package, version in environment["packages"].items()))
    try:
        runtime = open_runtime(RuntimeSpec())
    except UserError as error:
        console.print(f"sandbox broken: {error}")
    else:
        console.print(f"sandbox level {runtime.sandbox_level}")
        runtime.close()
    for line in (*_home_lines(home), *server_lines(console.width)):
        console.print(line, markup=False)


def print_damage(home: Path | None) -> None:
    """Verify every landed file and every merged bundle; raise `UserError` for damage.

    A landed file is compared with its checksum. A bundle that the warehouse holds must still lie in the landing zone.
    """
    folders = find_folders(home)
    zone = LandingZone(folders.landing)
    damage = find_damage(zone)
    merged = _merged_bundles(folders.warehouse)
    gone = [bundle for bundle in merged if bundle.landing_url == zone.url and not zone.store.has(bundle.path)]
    for refusal in damage:
        typer.echo(f"{refusal.path}: {refusal.reason}")
    for bundle in gone:
        typer.echo(f"{bundle.path}: gone; the warehouse holds its {bundle.row_count:,} rows")
    if damage:
        raise UserError(
            f"{len(damage)} damaged bundles in {zone.url}; restore their files from a backup, or run "
            "`carryover merge`, which quarantines those that are not merged yet"
        )
    if gone:
        raise UserError(
            f"{len(gone)} merged bundles are gone from {zone.url}; restore them from a backup: a warehouse that is "
            "merged anew would lack their rows"
        )
    typer.echo(f"{len(zone.manifests().bundles)} bundles in {zone.url} match their checksums")
    elsewhere = sum(bundle.landing_url != zone.url for bundle in merged)
    if elsewhere:
        typer.echo(f"{elsewhere} merged bundles are of other landing zones and were not verified")


class MergedBundle(NamedTuple):
    """A bundle that the warehouse holds."""

    bundle_id: str
    run_id: str
    landing_url: str
    row_count: int

    @property
    def path(self) -> str:
        """Path of its manifest in its landing zone."""
        return manifest_path(self.run_id, self.bundle_id)


def _merged_bundles(warehouse: Path) -> list[MergedBundle]:
    """Return the bundles that a warehouse holds; none where no warehouse exists."""
    if not warehouse.exists():
        return []
    with Warehouse.open(warehouse) as opened:
        return [MergedBundle(*row) for row in opened.sql(command_sql("merged_bundles")).rows()]


def _home_lines(home: Path | None) -> list[str]:
    try:
        folders = find_folders(home)
        manifests = LandingZone(folders.landing).manifests()
    except UserError as error:
        return [str(error)]
    newer = {Path(refusal.path).stem for refusal in find_newer(manifests)}
    landed = {manifest.bundle_id for manifest in manifests.bundles} - newer
    lines = [f"landing zone {folders.landing}: {len(landed)} bundles"]
    if newer:
        lines.append(f"{len(newer)} landed bundles are of a newer version; upgrade Carryover to merge them")
    if not folders.warehouse.exists():
        return [*lines, f"no warehouse at {folders.warehouse}; {HOW_TO_FILL}"]
    try:
        return [*lines, *_warehouse_lines(folders.warehouse, landed)]
    except UserError as error:
        return [*lines, f"warehouse {folders.warehouse}: {error}"]


def _warehouse_lines(path: Path, landed: set[str]) -> list[str]:
    """Return lines on a warehouse; raise `UserError` if it is unreadable."""
    with Warehouse.open(path) as warehouse:
        counts = [f"{table} {warehouse.sql(f'select count(*) from {table}').rows()[0][0]:,}" for table in COUNTED]
        waiting = landed - {row[0] for row in warehouse.sql(command_sql("merged_bundles")).rows()}
        ((run_count, episode_count),) = warehouse.sql(command_sql("other_sources")).rows()
        broken = [row[0] for row in warehouse.sql(command_sql("broken_checks")).rows()]
    lines = [f"warehouse {path}: {', '.join(counts)}"]
    if waiting:
        lines.append(f"{len(waiting)} landed bundles are not merged yet; `carryover merge` takes them in")
    elif not has_current_copy(path):
        lines.append("the readers' copy is older than the warehouse; `carryover merge` replaces it")
    if run_count:
        found = f"re-evaluations on other source than their study's: {run_count} ({episode_count:,} episodes)"
        lines.append(f"{found}; `night_verdicts` names the deciding parts that differ")
    if broken:
        lines.append(f"latest checks failed: {', '.join(broken)}; see the table check_results")
    return lines
