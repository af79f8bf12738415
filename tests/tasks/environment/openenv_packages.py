"""OpenEnv in a folder of its own: it wants newer web packages than Prefect allows."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.tasks.serving.vllm_environment import is_offered

REQUIREMENT = "openenv==0.10.0"


def _folder() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "carryover"
    return cache / f"{REQUIREMENT.replace('==', '-')}-py{sys.version_info.major}{sys.version_info.minor}"


def can_provide_openenv() -> bool:
    """Tell whether it is kept already, or else offered by the package index."""
    return _folder().exists() or is_offered(REQUIREMENT)


def provide_openenv() -> dict[str, str]:
    """Return the environment variables under which `openenv` is imported; the first call downloads 0.2 GB."""
    folder = _folder()
    folder.parent.mkdir(parents=True, exist_ok=True)
    if not folder.exists():
        unfinished = Path(tempfile.mkdtemp(dir=folder.parent))
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        subprocess.run([*pip, "--target", str(unfinished), REQUIREMENT], check=True)
        try:
            unfinished.rename(folder)
        except OSError:
            if not folder.exists():  # as it does where another process was faster
                raise
            shutil.rmtree(unfinished)
    return {**os.environ, "PYTHONPATH": f"{folder}:{Path(__file__).parents[3]}"}
