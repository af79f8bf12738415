from typing import get_args

import pytest

from carryover.tasks.interchange.authors_import import KnownInstance
from carryover.tasks.interchange.formats import export_traces, import_traces
from carryover.tasks.interchange.setting import ImportSetting
from carryover.tasks.services.errors import UserError
from carryover.tasks.traces.vocabulary import ExportFormat

SETTING = ImportSetting(run_id="import", runtime_contract="persistent")


FIELDS = ("instance_id", "runtime_contract", "train_contract", "score", "is_solved", "turn_count", "step_count")


@pytest.mark.parametrize("format_name", get_args(ExportFormat))
def test_what_export_writes_import_reads_back(played, tmp_path, format_name):
    traces = played.traces()
    assert export_traces(traces, tmp_path / "out", format_name) == 4
    # the authors' files name an instance by its task, unless the importer knows it
    known = {KnownInstance(one.task_id, one.capacity, one.optimal_value): one.instance_id for one in played.instances}
    imported = list(import_traces(tmp_path / "out", SETTING, known))

    def place(rows):
        return rows.episode.runtime_contract, rows.episode.instance_id

    for trace, rows in zip(sorted(traces, key=place), sorted(imported, key=place), strict=True):
        assert [getattr(rows.episode, name) for name in FIELDS] == [getattr(trace.episode, name) for name in FIELDS]
        assert [turn.assistant_text for turn in rows.turns[1:]] == [turn.assistant_text for turn in trace.turns[1:]]
        assert [step.code for step in rows.steps] == [step.code for step in trace.steps]
        # a chat does not hold what the last block printed
        kept = None if format_name in ("authors", "atif") else -1
        assert [(step.output, step.error) for step in rows.steps[:kept]] == [
            (step.output, step.error) for step in trace.steps[:kept]
        ]


def test_nothing_to_import_is_said(tmp_path):
    with pytest.raises(UserError, match="nothing to import at"):
        import_traces(tmp_path / "absent.jsonl", SETTING)


def test_exporting_onto_a_file_says_so_and_leaves_it(tmp_path):
    file = tmp_path / "out"
    file.write_text("precious")
    with pytest.raises(UserError, match=r"not a folder: .*out; pass a folder"):
        export_traces([], file, "jsonl")
    assert file.read_text() == "precious"


@pytest.mark.parametrize("format_name", get_args(ExportFormat))
def test_an_export_that_fails_leaves_nothing(played, tmp_path, format_name):
    def fail_after_two():
        yield from played.traces()[:2]
        raise LookupError("no third episode")

    with pytest.raises(LookupError, match="no third episode"):
        export_traces(fail_after_two(), tmp_path / "out", format_name)
    assert list(tmp_path.iterdir()) == []
