"""The hub's cache as a download leaves it, so that a hub id is loaded with no hub at hand."""

import shutil
from pathlib import Path

import pytest

OLD_COMMIT, NEW_COMMIT = "1" * 40, "2" * 40


def keep_as_downloaded(cache: Path, hub_id: str, commits: dict[str, Path], newest: str) -> None:
    """Lay folders down as commits of a hub's repository; the branch `main` is at the newest."""
    repository = cache / f"models--{hub_id.replace('/', '--')}"
    for commit, folder in commits.items():
        shutil.copytree(folder, repository / "snapshots" / commit)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(newest)


def read_offline(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    """Make a folder the hub's cache, and leave the hub out of reach."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(cache))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
