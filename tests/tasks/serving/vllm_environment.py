"""vLLM as far as its argument parser needs it: no GPU, no CUDA packages, nothing installed beside our own packages."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from importlib.metadata import Distribution
from pathlib import Path

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


def is_offered(requirement: str) -> bool:
    """Tell whether the package index has a version, asked for as `name==version`."""
    name, _, version = requirement.partition("==")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--retries", "0", "index", "versions", name]
    asked = subprocess.run(pip, capture_output=True, text=True, check=False)
    return asked.returncode == 0 and version in re.split(r"[^0-9a-z.]+", asked.stdout)


def provide_vllm() -> dict[str, str]:
    """Return the environment variables with which our Python imports vLLM; its packages are kept in the user's cache.

    The first call downloads 0.3 GB from the package index.
    """
    folder = _folder()
    folder.parent.mkdir(parents=True, exist_ok=True)
    if not folder.exists():
        unfinished = Path(tempfile.mkdtemp(dir=folder.parent))
        _install(unfinished, _requirement())
        (vllm,) = unfinished.glob("vllm-*.dist-info")
        needs = [each for each in Distribution.at(vllm).requires or [] if _name(each) in PARSER_IMPORTS]
        _install(unfinished, "uvloop", *needs)
        shutil.rmtree(unfinished / "bin", ignore_errors=True)
        for library in unfinished.glob("vllm/**/*.so"):  # kernels for GPUs: 0.6 GB that no parser loads
            library.unlink()
        try:
            unfinished.rename(folder)
        except OSError:
            if not folder.exists():  # as it does where another process was faster
                raise
            shutil.rmtree(unfinished)
    return {**os.environ, "PYTHONPATH": str(folder), "VLLM_TARGET_DEVICE": "cpu", "VLLM_NO_USAGE_STATS": "1"}


def _requirement() -> str:
    (requirement,) = tomllib.loads(PROJECT.read_text())["project"]["optional-dependencies"]["gpu"]
    return requirement


def _folder() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "carryover"
    return cache / f"{_requirement().replace('==', '-')}-parser-py{sys.version_info.major}{sys.version_info.minor}"


def _name(requirement: str) -> str:
    return re.split(r"[^A-Za-z0-9-]", requirement)[0]


def _install(folder: Path, *requirements: str) -> None:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run([*pip, "--no-deps", "--upgrade", "--target", str(folder), *requirements], check=True)
