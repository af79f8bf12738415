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
PROCESSORS = Path("/proc/cpuinfo")
"""File in which Linux describes the processors."""
VECTOR_INSTRUCTIONS = ("amx_tile", "avx512_bf16", "avx512_vnni", "avx512f", "avx_vnni", "avx2", "avx", "asimd")
"""Flags of processors, the widest first."""
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS")
"""Variables that limit the threads of libraries; a plan's own thread counts are in its settings."""
DRIVER = Path("/proc/driver/nvidia/gpus")
"""Folder in which NVIDIA's driver describes its GPUs."""


def describe_environment() -> dict[str, Any]:
    """Return command line, Python, system, hardware and packages as JSON values.

    No command line holds a key: keys come from environment variables.
    """
    return {
        "command_line": command_line(sys.orig_argv),
        "python": platform.python_version(),
        "system": platform.platform(),
        "machine": platform.machine(),
        "processor": processor_model(),
        "vector_instructions": vector_instructions(),
        "processor_count": processor_count(),
        "thread_limits": {name: os.environ[name] for name in THREAD_VARIABLES if name in os.environ},
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "gpu": gpu_name(),
        "packages": dict(package_versions()),
    }


def processor_model(description: Path = PROCESSORS) -> str | None:
    """Return the processor's name as the system tells it.

    None where it tells none.
    """
    return _first_value(description, "model name")


def vector_instructions(description: Path = PROCESSORS) -> str | None:
    """Return the widest vector instructions that libraries choose kernels by.

    None where the system tells none.

    Processors of one kind round alike; those of another one train to other weights.
    """
    flags = (_first_value(description, "flags") or "").split()
    return next((name for name in VECTOR_INSTRUCTIONS if name in flags), None)


def _first_value(description: Path, field: str) -> str | None:
    with suppress(OSError):
        for line in description.read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == field:
                return value.strip()
    return None


@cache
def package_versions() -> Mapping[str, str]:
    """Return installed versions of packages that can change a result."""
    versions = {}
    for name in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    return MappingProxyType(versions)


def command_line(words: list[str]) -> str:
    """Return the command line as typed, without interpreter and folders."""
    has_script = len(words) > 1 and not words[1].startswith("-")
    program, *arguments = words[1:] if has_script else words
    return shlex.join([Path(program).name, *arguments])


def gpu_name(driver: Path = DRIVER) -> str | None:
    """Return the name of the first NVIDIA GPU, without loading torch.

    None if the driver shows none.
    """
    for information in sorted(driver.glob("*/information")):
        for line in information.read_text(encoding="utf-8").splitlines():
            if line.startswith("Model:"):
                return line.removeprefix("Model:").strip()
    return None


def processor_count() -> int:
    """Return the number of processors this process may use.

    Of all, if the system does not report it.
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
