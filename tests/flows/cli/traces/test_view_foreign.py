"""`carryover view FILE`: foreign traces as they are, with the lint at each step."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from carryover.flows.cli.traces.foreign import foreign_warehouse
from carryover.storage.errors import QueryError
from carryover.tasks.readers.import_setting import ImportSetting
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


def test_a_file_is_a_finished_import_for_as_long_as_it_is_open(traces, capsys):
    with traces.open("a") as file:
        file.write('\n{"messages": 3}\n')
    with foreign_warehouse(traces, "stateless") as warehouse:
        ((*run, plan_json, started_at),) = warehouse.sql(
            "select run_id, flow, plan_name, plan_digest, scale, environment_json, plan_json, started_at from runs"
        ).rows()
        ends = warehouse.sql("select run_id, status, message from run_ends").rows()
        contracts = warehouse.sql("select runtime_contract, plan_digest from episodes").rows()
    assert run == ["viewed", "import", traces.name, "viewed", "import", "{}"]
    assert abs(datetime.now(UTC) - started_at) < timedelta(minutes=5)
    setting = ImportSetting(run_id="viewed", runtime_contract="stateless", plan="viewed")
    shown = setting.model_dump(mode="json", exclude={"run_id"})
    assert json.loads(plan_json) == {"source": str(traces), "setting": shown}
    assert (ends, contracts) == ([("viewed", "finished", "")], [("stateless", "viewed")])
    with pytest.raises(QueryError, match="closed"):
        warehouse.sql("select 1")
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"1 unread: unknown layout (first: line 2 of {traces}, an object with messages)\n")
