"""Others' packages in the user's cache: installed at the first use, kept for later runs."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path


def kept_folder(name: str) -> Path:
    """Return the folder of a name and this Python's version."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "carryover"
    return cache / f"{name}-py{sys.version_info.major}{sys.version_info.minor}"


def fill_once(folder: Path, fill: Callable[[Path], None]) -> None:
    """Let `fill` make a folder, unless it is there; it appears whole."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    if folder.exists():
        return
    unfinished = Path(tempfile.mkdtemp(dir=folder.parent))
    fill(unfinished)
    try:
        unfinished.rename(folder)
    except OSError:
        if not folder.exists():  # as it does where another process was faster
            raise
        shutil.rmtree(unfinished)


def install(requirements: tuple[str, ...], *options: str, python: Path | str = sys.executable) -> None:
    """Call pip, quietly."""
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run([*pip, *options, *requirements], check=True)


def is_offered(requirement: str) -> bool:
    """Tell whether the package index has a version, asked for as `name==version`."""
    name, _, version = requirement.partition("==")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--retries", "0", "index", "versions", name]
    asked = subprocess.run(pip, capture_output=True, text=True, check=False)
    return asked.returncode == 0 and version in re.split(r"[^0-9a-z.]+", asked.stdout)
