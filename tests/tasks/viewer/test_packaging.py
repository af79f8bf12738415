"""What an installation needs: the packages that the viewer imports, and its built files in the wheel."""

import ast
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.flattening import flat

ROOT = Path(__file__).parents[3]
BESIDE_THE_SOURCES = (".*", "*.egg-info", "build", "node_modules", "__pycache__")


def imported_packages(file):
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            yield (node.module or "").split(".")[0]


def test_every_package_that_the_viewer_imports_is_named():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    named = {Requirement(line).name for line in flat(lists)}
    imported = set(flat(imported_packages(file) for file in (ROOT / "tasks" / "viewer").glob("*.py")))
    foreign = imported - sys.stdlib_module_names - {"carryover"}
    assert "pygments" in foreign
    assert foreign - named == set()


@pytest.mark.slow
def test_a_wheel_holds_the_viewer_s_built_files(tmp_path):
    source = tmp_path / "source"
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(*BESIDE_THE_SOURCES))
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", tmp_path, source]
    environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    subprocess.run(command, check=True, env=environment)
    (wheel,) = tmp_path.glob("carryover-*.whl")
    built = ROOT / "tasks" / "viewer" / "built"
    with zipfile.ZipFile(wheel) as packed:
        for name in ("viewer.js", "viewer.css"):
            assert packed.read(f"carryover/tasks/viewer/built/{name}") == (built / name).read_bytes()
        assert any(name.startswith("carryover/sql/viewer/") for name in packed.namelist())
