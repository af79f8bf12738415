"""A checkout of the authors' repository (mrcabbage972/agents-learn-runtime), which we neither hold nor fetch."""

import os
from pathlib import Path

VARIABLE = "CARRYOVER_AUTHORS"
SCRIPTS = ("get_trace_stats.py", "main_table.py", "compare_benchmarks.py")


def has_checkout() -> bool:
    """Tell whether the environment names a folder with the three scripts that read results."""
    return VARIABLE in os.environ and all((scripts_folder() / script).is_file() for script in SCRIPTS)


def scripts_folder() -> Path:
    """Return the folder of the scripts in the checkout that the environment names."""
    return Path(os.environ[VARIABLE]) / "scripts"
