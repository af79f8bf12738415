"""What the files `pyproject.toml` ask for: each cap has its reason, and each extra its own packages."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECTS = [ROOT / "pyproject.toml", *sorted((ROOT / "deployments" / "environments").glob("*/pyproject.toml"))]
QUOTED_CAP = re.compile(r'"[\w.\[\]-]+[^"]*(?:<|==|~=)[^"]*"')
"""A requirement that newer versions do not fulfil."""


def capped_lines(text: str) -> list[str]:
    """Return the lines of the requirements, not of tools' settings, that have a cap."""
    asked = text.partition("\n[tool.")[0]
    return [line for line in asked.splitlines() if QUOTED_CAP.search(line)]


@pytest.mark.parametrize("path", PROJECTS, ids=lambda path: path.parent.name)
def test_each_cap_has_its_reason_beside_it(path):
    lines = capped_lines(path.read_text(encoding="utf-8"))
    assert lines
    assert [line for line in lines if not re.search(r'["\],]  # \w', line)] == []


def extras_that_ask_for(name: str) -> set[str]:
    """Return the extras that ask for a package themselves; `core` is none."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lists = {"core": project["dependencies"], **project["optional-dependencies"]}
    return {
        extra
        for extra, requirements in lists.items()
        if name in {canonicalize_name(Requirement(each).name) for each in requirements}
    }


@pytest.mark.parametrize(
    ("name", "extras"),
    [("fastapi", set()), ("accelerate", {"train"}), ("starlette", {"viewer", "train"}), ("httpx", {"core"})],
)
def test_package_belongs_to_the_extras_that_use_it(name, extras):
    assert extras_that_ask_for(name) == extras
