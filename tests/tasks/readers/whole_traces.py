"""Every made-up recording as it is read, whole.

`python -m tests.tasks.readers.whole_traces` writes `made_up/traces.json` anew; read its diff before you keep it.
"""

import json
import tempfile
from dataclasses import fields
from pathlib import Path
from typing import Any

from carryover.tasks.readers.reading import read_traces
from carryover.tasks.readers.trace import Block, OpeningMessage, Reply, Trace
from tests.tasks.readers.made_up_layouts import PYTHON_LAYOUTS, SHELL_LAYOUTS, WITHOUT_OUTCOMES

MADE_UP = Path(__file__).parent / "made_up"
KEPT = MADE_UP / "traces.json"
RECORDINGS = (
    {name: content for name, (_, content) in PYTHON_LAYOUTS.items()}
    | {f"{name} in shell": content for name, (_, content) in SHELL_LAYOUTS.items()}
    | {name: content for name, (_, content) in WITHOUT_OUTCOMES.items()}
    | {file.name: file.read_bytes() for file in sorted(MADE_UP.glob("[0-9]*"))}
)


def whole(path: Path) -> list[dict[str, Any]]:
    """Return the traces of a file, without fields that have their defaults and the place."""
    return [_plain_trace(trace) for trace in read_traces(path)]


def _plain_trace(trace: Trace) -> dict[str, Any]:
    told = {}
    for each in fields(Trace):
        value = getattr(trace, each.name)
        if each.name != "place" and value not in (each.default, {}):
            told[each.name] = _plain(value)
    return told


def _plain(value: Any) -> Any:
    if isinstance(value, Block | Reply | OpeningMessage):
        usual = type(value)._field_defaults
        return {
            name: _plain(held) for name, held in value._asdict().items() if name not in usual or held != usual[name]
        }
    if hasattr(value, "_asdict"):
        return value._asdict()
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if isinstance(value, str | int | float | bool | dict):
        return value
    return str(value)


def _write() -> None:
    kept = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "recording"
        for name, content in RECORDINGS.items():
            path.write_bytes(content)
            kept[name] = whole(path)
    rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(traces, sort_keys=True)}" for name, traces in kept.items())
    KEPT.write_text(f"{{\n{rows}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    _write()
