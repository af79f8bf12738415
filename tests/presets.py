"""Presets and declared tables, compared whole with the kept ones of a room.

A study is known by its presets: one that changes makes another study, so its line in `presets.json` changes with it.
"""

import json
from pathlib import Path
from typing import Any


def kept_presets(test_file: str, name: str = "presets.json") -> dict[str, Any]:
    """Return the presets, or other values, kept beside a test file."""
    return _read(Path(test_file).with_name(name).read_text(encoding="utf-8"))


def as_kept(declared: dict[str, Any]) -> dict[str, Any]:
    """Return presets as JSON keeps them."""
    return _read(json.dumps(declared, default=_plain))


def constraints(model: Any) -> dict[str, list[str]]:
    """Return the constraints of a model's fields, by name."""
    return {
        name: [str(each).partition(" at 0x")[0] for each in field.metadata]
        for name, field in model.model_fields.items()
        if field.metadata
    }


def _read(text: str) -> dict[str, Any]:
    """Return values of JSON, numbers rounded: the last digits differ from one kind of processor to another."""
    return json.loads(text, parse_float=lambda number: round(float(number), 9))


def _plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return {name: getattr(value, name) for name in type(value).model_fields}
    if isinstance(value, set | frozenset):
        return sorted(value)
    return str(value)
