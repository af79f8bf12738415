"""vLLM as far as its argument parser needs it: no GPU, no CUDA packages, nothing installed beside our own packages."""

import os
import re
import shutil
import tomllib
from importlib.metadata import Distribution
from pathlib import Path

from tests.kept_packages import fill_once, install, is_offered, kept_folder

PROJECT = Path(__file__).parents[3] / "pyproject.toml"
PARSER_IMPORTS = {
    "apache-tvm-ffi",
    "cbor2",
    "llguidance",
    "msgspec",
    "oss-harmony",
    "partial-json-parser",
    "py-cpuinfo",
    "pybase64",
    "watchfiles",
    "xgrammar",
}
"""Requirements of vLLM that its parser imports and we do not have; their versions are vLLM's own choice."""


def can_provide_vllm() -> bool:
    """Tell whether vLLM is kept already, or else offered by the package index."""
    return _folder().exists() or is_offered(_requirement())


def provide_vllm() -> dict[str, str]:
    """Return the environment variables with which our Python imports vLLM; its packages are kept in the user's cache.

    The first call downloads 0.3 GB from the package index.
    """
    fill_once(_folder(), _install_vllm)
    return {**os.environ, "PYTHONPATH": str(_folder()), "VLLM_TARGET_DEVICE": "cpu", "VLLM_NO_USAGE_STATS": "1"}


def _install_vllm(folder: Path) -> None:
    _install(folder, _requirement())
    (vllm,) = folder.glob("vllm-*.dist-info")
    needs = [each for each in Distribution.at(vllm).requires or [] if _name(each) in PARSER_IMPORTS]
    _install(folder, "uvloop", *needs)
    shutil.rmtree(folder / "bin", ignore_errors=True)
    for library in folder.glob("vllm/**/*.so"):  # kernels for GPUs: 0.6 GB that no parser loads
        library.unlink()


def _requirement() -> str:
    (requirement,) = tomllib.loads(PROJECT.read_text())["project"]["optional-dependencies"]["gpu"]
    return requirement


def _folder() -> Path:
    return kept_folder(f"{_requirement().replace('==', '-')}-parser")


def _name(requirement: str) -> str:
    return re.split(r"[^A-Za-z0-9-]", requirement)[0]


def _install(folder: Path, *requirements: str) -> None:
    install(requirements, "--no-deps", "--upgrade", "--target", str(folder))
