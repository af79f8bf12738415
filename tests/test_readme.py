"""The repository paths that the READMEs name exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
FINDINGS = (ROOT / "sql" / "results" / "README.md").read_text(encoding="utf-8")
MADE_BY_RUNNING = ("data", ".venv", "out")
"""Folders that git does not keep: what a run or `make` leaves."""


def named_paths(text):
    """Return the targets of links, and the words in backticks, that begin with the name of a part of the repository.

    A path with a folder counts as soon as its first folder exists, so one that is gone is not taken for a plain word.
    """
    kept = {entry.name for entry in ROOT.iterdir()} - {*MADE_BY_RUNNING}
    quoted = [word for span in re.findall(r"`+([^`]+)`+", text) for word in span.split()]
    quoted += re.findall(r"\]\(([^)]+)\)", text)
    paths = [word.partition("::")[0].rstrip(".,;:") for word in quoted]
    return {path for path in paths if re.fullmatch(r"[\w./*-]+", path) and path.split("/")[0] in kept}


def missing_paths(text):
    return sorted(path for path in named_paths(text) if not any(ROOT.glob(path)))


def test_every_path_that_a_readme_names_exists():
    assert {"sql/README.md", "tasks/*.py", "deployments/constraints.txt"} <= named_paths(README)
    for text in (README, FINDINGS):
        assert missing_paths(text) == []


def test_a_path_that_is_gone_is_found():
    text = (
        "`data/new`, `laptop`, `tests/test_readme.py`, [a picture](sql/gone.svg), `pytest tests/test_gone.py::test_it`"
    )
    assert missing_paths(text) == ["sql/gone.svg", "tests/test_gone.py"]
