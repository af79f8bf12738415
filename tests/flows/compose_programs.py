"""The compose file as tests read it, and the programs that some of them need."""

import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.flows.flow_process import ROOT

FILE = ROOT / "deployments" / "compose.yaml"


def read_services(password: str, hosts: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the services as Docker Compose interpolates them, with the places of `hosts` replaced."""
    import yaml  # the tests' conftest imports this file where the core alone is installed

    def fill(value: Any) -> Any:
        match value:
            case str():
                text = re.sub(r"\$\{PASSWORD:\?[^}]*\}", lambda _: password, value)
                text = text.replace("${TAG:-latest}", "latest").replace("$$", "$")
                for name, here in (hosts or {}).items():
                    text = text.replace(name, here)
                return text
            case list():
                return [fill(each) for each in value]
            case dict():
                return {key: fill(each) for key, each in value.items()}
            case _:
                return value

    return fill(yaml.safe_load(FILE.read_text())["services"])


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
