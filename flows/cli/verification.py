"""Whether the landed files are as they were written."""

from pathlib import Path

import typer

from carryover.flows.cli.places import find_places
from carryover.storage.zone.landing import LandingZone
from carryover.storage.zone.quarantine import find_damage
from carryover.tasks.running.errors import UserError


def print_damage(home: Path | None) -> None:
    """Read every landed file and compare it with its checksum.

    Raises:
        UserError: There is no data folder, or a bundle is damaged.
    """
    zone = LandingZone(find_places(home).landing)
    damage = find_damage(zone)
    for refusal in damage:
        typer.echo(f"{refusal.path}: {refusal.reason}")
    if damage:
        raise UserError(
            f"{len(damage)} damaged bundles in {zone.url}; restore their files from a backup, or run "
            "`carryover merge`, which quarantines those that are not merged yet"
        )
    typer.echo(f"{len(zone.manifests().bundles)} bundles in {zone.url} match their checksums")
