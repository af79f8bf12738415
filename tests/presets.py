"""Presets and declared tables, compared whole with the kept ones of a room.

A study is known by its presets: one that changes makes another study, so its line in `presets.json` changes with it.
"""

import json
from pathlib import Path
from typing import Any


def kept_presets(test_file: str) -> dict[str, Any]:
    """Return the presets kept beside a test file, by name."""
    return json.loads(Path(test_file).with_name("presets.json").read_text(encoding="utf-8"))


def as_kept(declared: dict[str, Any]) -> dict[str, Any]:
    """Return presets as JSON keeps them."""
    return json.loads(json.dumps(declared, default=_plain))


def _plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return {name: getattr(value, name) for name in type(value).model_fields}
    if isinstance(value, set | frozenset):
        return sorted(value)
    return str(value)
