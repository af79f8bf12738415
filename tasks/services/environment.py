"""Environment of a run: Python, packages, processor and accelerator."""

import os
import platform
import shlex
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path
from types import MappingProxyType
from typing import Any

PACKAGES = (
    "accelerate", "bitsandbytes", "datasets", "duckdb", "great-expectations", "ipykernel", "jupyter-client", "numpy",
    "openai", "pandas", "peft", "polars", "prefect", "pyarrow", "scipy", "tokenizers", "torch", "transformers", "trl",
    "vllm",
)  # fmt: skip
"""Packages whose versions can change a result."""
DRIVER = Path("/proc/driver/nvidia/gpus")
"""Folder in which NVIDIA's driver describes its GPUs."""


def describe_environment() -> dict[str, Any]:
    """Return command line, Python, operating system, processor, memory, packages and accelerator as JSON-able values.

    No key is on a command line of ours: keys come from environment variables.
    """
    return {
        "command_line": command_line(sys.orig_argv),
        "python": platform.python_version(),
        "system": platform.platform(),
        "machine": platform.machine(),
        "processor_count": processor_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "gpu": gpu_name(),
        "packages": dict(package_versions()),
    }


@cache
def package_versions() -> Mapping[str, str]:
    """Return the installed versions of the packages that can change a result, by name."""
    versions = {}
    for name in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    return MappingProxyType(versions)


def command_line(words: list[str]) -> str:
    """Return the command line as typed: a script without its interpreter, and the program without its folder."""
    program, *arguments = words[1:] if len(words) > 1 and not words[1].startswith("-") else words
    return shlex.join([Path(program).name, *arguments])


def gpu_name(driver: Path = DRIVER) -> str | None:
    """Return the name of the first NVIDIA GPU, without loading torch; None if the driver shows none."""
    for information in sorted(driver.glob("*/information")):
        for line in information.read_text(encoding="utf-8").splitlines():
            if line.startswith("Model:"):
                return line.removeprefix("Model:").strip()
    return None


def processor_count() -> int:
    """Return the number of processors this process may use; of all, if the system does not report it."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
