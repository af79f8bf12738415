"""`.ci/versions.sh`: the core's tests import what the core's environment has, and other Pythons are found."""

import ast
import subprocess
import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import NamedTuple

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.flattening import flat

ROOT = Path(__file__).parents[1]
SCRIPT = (ROOT / ".ci" / "versions.sh").read_text()
CORE = ("runtime", "lint", "readers", "agent", "cave", "probe", "families")
"""Rooms whose tests run on every Python."""


def run_bash(program, **environment):
    done = subprocess.run(
        ["bash", "-uc", program], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    return done.stdout.split()


def declared(name):
    """Return the words of an array of the script."""
    (line,) = [line for line in SCRIPT.splitlines() if line.startswith(f"{name}=(")]
    return run_bash(f'{line}\nprintf "%s\\n" "${{{name}[@]}}"', PATH="/usr/bin:/bin")


def absent_modules() -> set[str]:
    """Return the modules that the study, training and the viewer ask for, and the core's environment does not."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    asked = names_of(flat(extras[extra] for extra in ("study", "viewer", "train", "dev")))
    present = names_of([*project["dependencies"], *extras["frames"], *declared("sent")])
    tested_with = {"pytest", "pytest-timeout", "pytest-xdist", "hypothesis", "carryover", "pygments"}  # pytest's own
    absent = asked - present - tested_with
    found = packages_distributions().items()
    return {module for module, names in found if absent & {canonicalize_name(name) for name in names}}


def names_of(requirements: Iterable[str]) -> set[str]:
    return {canonicalize_name(Requirement(each).name) for each in requirements}


class Imports(NamedTuple):
    """What a file imports as it is imported."""

    ours: frozenset[Path]
    others: frozenset[str]


@cache
def imported(file: Path) -> Imports:
    modules = set()
    for node in ast.parse(file.read_text()).body:
        match node:
            case ast.Import(names=names):
                modules |= {each.name for each in names}
            case ast.ImportFrom(module=str(module), names=names, level=0):
                modules |= {module, *(f"{module}.{each.name}" for each in names)}
    ours = map(file_of, (module for module in modules if module.startswith(("carryover.", "tests."))))
    return Imports(frozenset(filter(None, ours)), frozenset(module.split(".")[0] for module in modules))


@cache
def file_of(module: str) -> Path | None:
    """Return the file of a module of ours; none has the name of a class."""
    path = ROOT / module.removeprefix("carryover.").replace(".", "/")
    candidates = (path.with_suffix(".py"), path / "__init__.py")
    return next((file for file in candidates if file.exists()), None)


def reached(file: Path) -> set[str]:
    """Return the modules of others that a file imports, through ours, too."""
    seen = {file}
    waiting = [file]
    others = set()
    while waiting:
        found = imported(waiting.pop())
        others |= found.others
        waiting += found.ours - seen
        seen |= found.ours
    return others


def conftests(file: Path) -> list[Path]:
    return [folder / "conftest.py" for folder in file.parents if (folder / "conftest.py").exists()]


def test_core_on_other_pythons_is_every_room_of_the_core():
    assert {f"tests/tasks/{room}" for room in CORE} < set(declared("core_tests"))


def test_tests_of_the_core_import_no_package_of_the_study():
    """Those left out by name do, and stand in the core's rooms."""
    absent = absent_modules()
    assert {"duckdb", "prefect", "torch", "great_expectations", "yaml", "jinja2"} <= absent
    files = set()
    for each in declared("core_tests"):
        files |= set((ROOT / each).rglob("test_*.py")) if (ROOT / each).is_dir() else {ROOT / each}
    files |= set(flat(map(conftests, files)))
    importers = {str(file.relative_to(ROOT)) for file in files if reached(file) & absent}
    assert importers == set(declared("study_tests"))


@pytest.mark.parametrize(
    ("minor", "found"), [(12, "python3.12"), (13, "versions/3.13.10/bin/python"), (99, None)], ids="3.{}".format
)
def test_python_is_of_path_or_the_newest_of_pyenv(tmp_path, minor, found):
    """A shim fails where pyenv has chosen another version."""

    def write(path, exit_code):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\nexit {exit_code}\n")
        path.chmod(0o755)

    write(tmp_path / "bin" / "python3.12", 0)
    write(tmp_path / "bin" / "python3.13", 127)
    for version in ("3.12.1", "3.13.9", "3.13.10"):
        write(tmp_path / "versions" / version / "bin" / "python", 0)
    start = SCRIPT.index("find_python() {")
    search = SCRIPT[start : SCRIPT.index("\n}\n", start) + 3]
    words = run_bash(f"{search}find_python {minor}", PATH=f"{tmp_path}/bin:/usr/bin:/bin", PYENV_ROOT=str(tmp_path))
    assert [word.removeprefix(f"{tmp_path}/") for word in words] == ([found] if found else [])
