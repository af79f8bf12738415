"""How the installation and the warehouse are."""

from pathlib import Path

from rich.table import Table

from carryover.flows.cli.places import HOW_TO_FILL, find_places
from carryover.flows.cli.screen import screen
from carryover.storage.errors import StorageError
from carryover.storage.warehouse.published import is_published
from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.running.environment import describe_environment
from carryover.tasks.running.errors import UserError
from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.runtime.sandbox.launch import SandboxStartError
from carryover.tasks.runtime.sandbox.level import SandboxUnavailableError
from carryover.tasks.runtime.spec import RuntimeSpec

COUNTED = ("runs", "instances", "episodes", "steps", "training_runs", "statistics", "quarantine")
BROKEN_CHECKS = """
with latest_checks as (
    select *
    from check_results
    qualify row_number() over (partition by suite, check_name order by checked_at desc) = 1
)

select check_name
from latest_checks
where not is_passed
order by check_name
"""
OTHER_SOURCES = """
with described_runs as (
    select
        runs.run_id,
        if(json_valid(runs.plan_json), runs.plan_json, null) ->> '$.source' as plan_source,
        if(json_valid(runs.environment_json), runs.environment_json, null) ->> '$.source' as source
    from runs
    where runs.flow = 'reevaluate_model'
)

select count(distinct described_runs.run_id), count(episodes.episode_id)
from described_runs
left join episodes on described_runs.run_id = episodes.run_id
where described_runs.source <> described_runs.plan_source
"""
"""Re-evaluations after an update, and their episodes."""


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
    for line in _warehouse_lines(home):
        console.print(line)


def _sandbox_line() -> str:
    try:
        runtime = open_runtime(RuntimeSpec())
    except (SandboxStartError, SandboxUnavailableError) as error:
        return f"sandbox broken: {error}"
    try:
        return f"sandbox level {runtime.sandbox_level}"
    finally:
        runtime.close()


def _warehouse_lines(home: Path | None) -> list[str]:
    try:
        places = find_places(home)
        landed = {manifest.bundle_id for manifest in LandingZone(places.landing).manifests().bundles}
    except (UserError, StorageError) as error:
        return [str(error)]
    lines = [f"landing zone {places.landing}: {len(landed)} bundles"]
    if not places.warehouse.exists():
        return [*lines, f"no warehouse at {places.warehouse}; {HOW_TO_FILL}"]
    try:
        with Warehouse.open(places.warehouse) as warehouse:
            counts = [f"{table} {warehouse.sql(f'select count(*) from {table}').rows()[0][0]:,}" for table in COUNTED]
            waiting = landed - {row[0] for row in warehouse.sql("select bundle_id from merged_bundles").rows()}
            ((run_count, episode_count),) = warehouse.sql(OTHER_SOURCES).rows()
            broken = [row[0] for row in warehouse.sql(BROKEN_CHECKS).rows()]
    except StorageError as error:
        return [*lines, f"warehouse {places.warehouse}: {error}"]
    lines.append(f"warehouse {places.warehouse}: {', '.join(counts)}")
    if waiting:
        lines.append(f"readers do not see {len(waiting)} landed bundles yet; `carryover merge` takes them in")
    elif not is_published(places.warehouse):
        lines.append("readers see an older copy of the warehouse; `carryover merge` publishes it anew")
    if run_count:
        lines.append(
            f"{run_count} re-evaluations by another source than their study's: {episode_count:,} episodes, under "
            "variants that name it"
        )
    if broken:
        lines.append(f"the latest checks were broken: {', '.join(broken)}; see the table check_results")
    return lines
