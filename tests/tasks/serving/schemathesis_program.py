"""schemathesis in a folder of its own: its pytest plugin would load with every run of the tests."""

import os
from pathlib import Path

from tests.kept_packages import fill_once, install, is_offered, kept_folder

REQUIREMENT = "schemathesis==4.32.5"


def _folder() -> Path:
    return kept_folder(REQUIREMENT.replace("==", "-"))


def can_provide_schemathesis() -> bool:
    """Tell whether it is kept already, or else offered by the package index."""
    return _folder().exists() or is_offered(REQUIREMENT)


def provide_schemathesis() -> dict[str, str]:
    """Return the environment variables with which `python -m schemathesis.cli` runs; the first call downloads 20 MB."""
    fill_once(_folder(), lambda folder: install((REQUIREMENT,), "--target", str(folder)))
    return {**os.environ, "PYTHONPATH": str(_folder())}
