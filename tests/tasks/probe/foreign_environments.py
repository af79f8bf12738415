"""Environments that hold other packages' runtimes: made at the first use, kept for later runs."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

from tests.kept_packages import fill_once, install, is_offered, kept_folder

ROOT = Path(__file__).parents[3]
CORE = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
"""What the checkout itself imports there."""
REQUIREMENTS = {
    "smolagents": ("smolagents==1.26.0",),
    "openenv": ("openenv==0.10.0", "smolagents==1.26.0"),
    "pydantic-monty": ("pydantic-monty==1.4.0",),
    "rlms": ("rlms==0.1.3",),
    "verifiers": ("verifiers==0.4.0",),
    "mcp-python-interpreter": ("mcp-python-interpreter==1.2.3", "mcp<2"),
    "mcp-python": ("mcp-python==0.1.4", "mcp<2"),
    "mcp": ("mcp==2.3.0", *CORE),
    "mcp-1": ("mcp==1.30.0", *CORE),
}


def _folder(name: str) -> Path:
    return kept_folder(f"probing-{name}")


def can_provide_runtimes() -> bool:
    """Tell whether the environments are kept already, or else offered by the package index."""
    return all(_folder(name).exists() for name in REQUIREMENTS) or is_offered(REQUIREMENTS["smolagents"][0])


def provide_runtime(name: str) -> Path:
    """Return the folder of programs of the environment that holds a runtime; the first call downloads some 50 MB."""

    def fill(environment: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
        install(REQUIREMENTS[name], python=environment / "bin" / "python")

    fill_once(_folder(name), fill)
    return _folder(name) / "bin"


def checkout_variables(folder: Path) -> dict[str, str]:
    """Return environment variables under which another Python imports the checkout; `folder` gets links to it."""
    links = folder / "carryover"
    links.mkdir()
    (links / "__init__.py").symlink_to(ROOT / "flows" / "api" / "__init__.py")
    for room in ("flows", "tasks", "storage", "sql"):
        (links / room).symlink_to(ROOT / room)
    return {**os.environ, "PYTHONPATH": f"{folder}:{ROOT}"}
