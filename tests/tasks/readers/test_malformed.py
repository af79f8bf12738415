"""Recordings that differ from their layout: counted with a reason, never an exception."""

import copy
import json
import random

import pytest

from carryover.tasks.lint.lint import lint_trace
from carryover.tasks.readers.import_setting import ImportSetting
from carryover.tasks.readers.importing import import_traces
from carryover.tasks.readers.reading import read_traces, read_value
from carryover.tasks.readers.tally import Tally
from tests.tasks.readers.made_up_layouts import PYTHON_LAYOUTS, SHELL_LAYOUTS

LAYOUTS = {**PYTHON_LAYOUTS, **{f"{name} in shell": held for name, held in SHELL_LAYOUTS.items()}}
OTHERS = (None, 7, "text", [], {}, [None], {"a": 1}, True, -1.5, [[]])
VARIANT_COUNT = 8


def documents_of(content):
    """Return the JSON values of a file; none of a text, a zip or an empty file."""
    for lines in ([content], content.splitlines()):
        try:
            return [json.loads(line) for line in lines]
        except ValueError:
            continue
    return []


def places_in(value, place=()):
    """Yield the path of each field and element, however deep."""
    children = []
    if isinstance(value, dict):
        children = list(value.items())
    if isinstance(value, list):
        children = list(enumerate(value))
    for key, child in children:
        yield (*place, key)
        yield from places_in(child, (*place, key))


def with_another_type(document, chosen):
    """Return a copy with one field or element replaced."""
    changed = copy.deepcopy(document)
    places = list(places_in(changed))
    if not places:
        return changed
    *path, last = chosen.choice(places)
    holder = changed
    for key in path:
        holder = holder[key]
    holder[last] = chosen.choice(OTHERS)
    return changed


@pytest.mark.parametrize("name", LAYOUTS)
def test_fields_of_another_type_raise_nothing(tmp_path, name):
    documents = documents_of(LAYOUTS[name][1])
    chosen = random.Random(name)
    path = tmp_path / "recording"
    for _ in range(VARIANT_COUNT):
        changed = [with_another_type(document, chosen) for document in documents]
        path.write_text("\n".join(map(json.dumps, changed)), encoding="utf-8")
        read, imported = Tally(), Tally()
        traces = list(read_traces(path, read))
        for trace in traces:
            lint_trace(trace)
        rows = list(import_traces(path, ImportSetting(run_id="r", runtime_contract="persistent"), tally=imported))
        assert traces or read.unread
        assert rows or imported.unread


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_file_cut_in_half_raises_nothing(tmp_path, name):
    content = LAYOUTS[name][1]
    path = tmp_path / "recording"
    path.write_bytes(content[: len(content) // 2])
    tally = Tally()
    traces = list(read_traces(path, tally))
    for trace in traces:
        lint_trace(trace)
    assert traces or tally.unread


@pytest.mark.parametrize(
    ("changed", "reason", "detail"),
    [
        (
            [{"step_number": 1, "model_output": "", "code_action": ["print(1)"], "observations": ""}],
            "differs from smolagents' memory",
            "element 1 of the value: TypeError code of a block is list",
        ),
        ({"events": [[]], "summary": {}}, "unknown layout", "element 1 of the value, an object with events, summary"),
    ],
)
def test_the_reason_names_what_differs(changed, reason, detail):
    tally = Tally()
    assert list(read_value(changed, tally)) == []
    assert tally.first_places == {reason: detail}
