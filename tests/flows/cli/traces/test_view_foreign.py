"""`carryover view FILE`: foreign traces as they are, with the lint at each step."""

import json

import pytest

from tests.flattening import flat
from tests.flows.cli.calling import call, refused
from tests.tasks.viewer.bundle_parts import parts_of

BLOCKS = ("x = 1", "print(x)")


@pytest.fixture
def traces(tmp_path):
    messages = [{"role": "user", "content": "Count."}]
    for block in BLOCKS:
        messages.append({"role": "assistant", "content": f"Go.\n```python\n{block}\n```"})
        messages.append({"role": "user", "content": "ok"})
    file = tmp_path / "1 odd name.jsonl"
    file.write_text(json.dumps({"instance_id": "task-a", "messages": messages}))
    return file


def test_a_file_opens_with_the_lint_of_each_step(traces, tmp_path):
    assert call("view", traces, "--out", tmp_path / "v.html").stdout == f"1 episodes in {tmp_path / 'v.html'}\n"
    parts = parts_of(tmp_path / "v.html")
    (episode,) = [values for path, values in parts.items() if path.startswith("episode/")]
    assert parts["study"]["plan_name"] == traces.name
    assert [step["code"] for step in flat(turn["steps"] for turn in episode["turns"])] == [*BLOCKS]
    assert episode["lint"]["steps"] == {"2": {"carried": ["x"], "early_names": [], "is_judged": True}}
    assert episode["lint"]["verdict"].startswith("takes `x` from earlier blocks, first at block 2")
    assert episode["episode"]["instance_id"] == "task-a"


def test_what_holds_no_trace_is_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    said = f"no trace in {tmp_path / 'empty'}; give a file or folder of traces in a known layout"
    assert refused("view", tmp_path / "empty", "--out", tmp_path / "v.html") == (1, said)


def test_a_missing_file_is_refused(tmp_path):
    said = f"no file {tmp_path / 'a.jsonl'}; name a trace file or a folder"
    assert refused("view", tmp_path / "a.jsonl") == (1, said)
