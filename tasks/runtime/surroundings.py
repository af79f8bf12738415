"""A block's surroundings, in words for a model."""

import functools
import importlib.util

from carryover.tasks.runtime.lifetime import Lifetime
from carryover.tasks.runtime.runtime_spec import RuntimeSpec, SandboxLevel

_LIBRARIES = (
    "matplotlib",
    "networkx",
    "numpy",
    "pandas",
    "polars",
    "pyarrow",
    "pydantic",
    "scipy",
    "seaborn",
    "sklearn",
    "statsmodels",
    "sympy",
    "torch",
)
"""Libraries that a model may ask for, by the name that it imports."""
_MIB = 1 << 20


def describe_surroundings(spec: RuntimeSpec, lifetime: Lifetime, level: SandboxLevel) -> str:
    """Return a line for each thing that a block has or lacks."""
    lines = [
        _files(spec, lifetime),
        _network(level),
        f"Time: a block is interrupted after {spec.block_timeout_seconds:g} seconds.",
        f"Libraries beside Python's own: {', '.join(importable_libraries()) or 'none'}.",
    ]
    return "\n".join(lines)


@functools.cache
def importable_libraries() -> tuple[str, ...]:
    """Return the usual libraries that a block can import here."""
    return tuple(name for name in _LIBRARIES if importlib.util.find_spec(name) is not None)


def _files(spec: RuntimeSpec, lifetime: Lifetime) -> str:
    if not spec.scratch_limit_bytes:
        return "Files: none can be written."
    lasting = "they stay for later blocks" if lifetime.keeps_files else "they are gone after the block"
    size = f"{spec.scratch_limit_bytes / _MIB:g} MiB"
    files = f"Files: the working directory takes {size} of them; {lasting}."
    if "matplotlib" in importable_libraries():
        return f"{files} Figures of matplotlib are shown to the user."
    return files


def _network(level: SandboxLevel) -> str:
    if level == "none":
        return "Network and other programs: not restricted; do not use them."
    return "Network and other programs: none."
