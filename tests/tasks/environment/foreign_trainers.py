"""Runs a session script of this folder under the Python of another package, which imports the checkout."""

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from tests.tasks.probe.foreign_environments import checkout_variables, provide_runtime


def run_session(package: str, family: str, contract: str, what: int | str) -> list[Any]:
    """Return the JSON lines that a package's session printed; `what` is how many seeds it plays, or `check`."""
    script = Path(__file__).with_name(f"{package}_session.py")
    python = provide_runtime(package) / "python"
    with tempfile.TemporaryDirectory() as links:
        done = subprocess.run(
            [str(python), str(script), family, contract, str(what)],
            env=checkout_variables(Path(links)),
            capture_output=True,
            text=True,
            timeout=840,
            check=False,
        )
    assert done.returncode == 0, done.stderr[-4000:]
    return [json.loads(line) for line in done.stdout.splitlines()]
