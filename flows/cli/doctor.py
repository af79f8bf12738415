"""How the installation and the warehouse are."""

from pathlib import Path

from rich.table import Table

from flows.cli.places import HOW_TO_FILL
from flows.cli.screen import screen
from storage.errors import StorageError
from storage.landing import LandingZone
from storage.warehouse import Warehouse
from tasks.running.environment import describe_environment
from tasks.running.places import Places, open_places
from tasks.runtime.open import open_runtime
from tasks.runtime.spec import RuntimeSpec

COUNTED = ("runs", "instances", "episodes", "steps", "training_runs", "statistics", "quarantine")


def print_health(home: Path | None) -> None:
    """Print versions, the sandbox level that agent code gets here, and what the warehouse holds."""
    console = screen()
    environment = describe_environment()
    console.print(
        f"Python {environment['python']} on {environment['system']}, {environment['processor_count']} cores, "
        f"GPU {environment['gpu'] or 'none'}"
    )
    versions = Table("package", "version", box=None)
    for package, version in environment["packages"].items():
        versions.add_row(package, version)
    console.print(versions)
    console.print(_sandbox_line())
    for line in _warehouse_lines(open_places(home)):
        console.print(line)


def _sandbox_line() -> str:
    runtime = open_runtime(RuntimeSpec())
    try:
        return f"sandbox level {runtime.sandbox_level}"
    finally:
        runtime.close()


def _warehouse_lines(places: Places) -> list[str]:
    waiting = len(LandingZone(places.landing).manifests().bundles)
    lines = [f"landing zone {places.landing}: {waiting} bundles"]
    if not places.warehouse.exists():
        return [*lines, f"no warehouse at {places.warehouse}; {HOW_TO_FILL}"]
    try:
        with Warehouse.open(places.warehouse) as warehouse:
            counts = [f"{table} {warehouse.sql(f'select count(*) from {table}').rows()[0][0]:,}" for table in COUNTED]
    except StorageError as error:
        return [*lines, f"warehouse {places.warehouse}: {error}"]
    return [*lines, f"warehouse {places.warehouse}: {', '.join(counts)}"]
