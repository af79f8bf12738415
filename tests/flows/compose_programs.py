"""Programs that tests of the compose file need, where the machine has them."""

import shutil
import subprocess
from pathlib import Path


def compose_command() -> list[str] | None:
    """Return how Docker Compose 2 or later is called here; version 1 does not know all that a file may say."""
    for command in (["docker", "compose"], ["docker-compose"]):
        if shutil.which(command[0]):
            asked = [*command, "version", "--short"]
            version = subprocess.run(asked, capture_output=True, text=True, check=False).stdout
            if version and not version.startswith("1."):
                return command
    return None


def postgres_programs() -> Path | None:
    """Return the folder of PostgreSQL's programs; Debian keeps them off the path, a folder for each version."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return folders[-1] if folders and (folders[-1] / "initdb").exists() else None
