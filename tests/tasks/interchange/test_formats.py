import re
from typing import get_args

import pytest

from carryover.tasks.interchange.formats import export_traces
from carryover.tasks.interchange.recorded import CONDITION_COLUMNS
from carryover.tasks.readers.import_setting import ImportSetting
from carryover.tasks.readers.importing import import_traces
from carryover.tasks.readers.trace import InstanceDescription
from carryover.tasks.services.errors import UserError
from carryover.tasks.traces.vocabulary import ExportFormat
from tests.tasks.interchange.made_trace import made_trace, make_step, make_turn

SETTING = ImportSetting(run_id="import", runtime_contract="persistent")


FIELDS = ("instance_id", "runtime_contract", "train_contract", "score", "is_solved", "turn_count", "step_count")


OF_OTHERS = ("inspect", "openinference")
"""Formats for the viewers of others, which have no place for our columns."""


OWN = sorted({*get_args(ExportFormat)} - {*OF_OTHERS})


@pytest.mark.parametrize("format_name", OWN)
def test_what_export_writes_import_reads_back(played, tmp_path, format_name):
    traces = played.traces()
    assert export_traces(traces, tmp_path / "out", format_name) == 4
    # the authors' files name an instance by its task, unless the importer knows it
    known = {
        InstanceDescription(one.task_id, one.capacity, one.optimal_value): one.instance_id for one in played.instances
    }
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


@pytest.mark.parametrize("format_name", OF_OTHERS)
def test_import_reads_replies_and_code_of_others_formats(played, tmp_path, format_name):
    export_traces(played.traces(), tmp_path / "out", format_name)
    imported = list(import_traces(tmp_path / "out", SETTING))
    codes = sorted([step.code for step in rows.steps] for rows in imported)
    assert codes == sorted([step.code for step in trace.steps] for trace in played.traces())


OF_STRUCTURED_RESULTS = sorted({*get_args(ExportFormat)} - {"jsonl", "parquet"})
"""Formats with a result per block; a chat has a message per turn."""


@pytest.mark.parametrize("observation", [None, "42\nValueError: late"])
@pytest.mark.parametrize("format_name", OF_STRUCTURED_RESULTS)
def test_outcomes_of_several_called_blocks_come_back(tmp_path, format_name, observation):
    trace = made_trace()
    steps = (
        make_step(1, 1, "look()", output="looked\n", result="42"),
        make_step(2, 1, "print('early')\nraise ValueError('late')", output="early\n", error="ValueError: late"),
    )
    turns = (trace.turns[0], make_turn(1, "I look.", observation, 1))
    assert export_traces([trace._replace(turns=turns, steps=steps)], tmp_path, format_name) == 1
    (rows,) = import_traces(tmp_path, SETTING)

    def outcomes(told):
        return [(step.code, step.output, step.result, step.error) for step in told]

    assert outcomes(rows.steps) == outcomes(steps)


CELL = "2f3a/persistent-0/main-evaluation-scratch-persistent-stateless-easy-replicate2"


@pytest.mark.parametrize(
    ("format_name", "pattern"),
    [
        ("authors", f"{CELL}/(summary|knapsack-knapsack-0001(.trace)?).json"),
        ("atif", f"{CELL}/knapsack-0001.atif.json"),
        ("inspect", "2f3a/persistent-0/2026-03-01T12-00-00_main-.*-replicate2_[0-9a-f]{22}.json"),
        ("openinference", "spans.jsonl"),
        ("jsonl", "traces.jsonl"),
        ("parquet", "traces.parquet"),
    ],
)
def test_each_format_has_its_files(tmp_path, format_name, pattern):
    assert export_traces([made_trace()], tmp_path, format_name) == 1
    files = [str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*") if file.is_file()]
    assert len(files) == (3 if format_name == "authors" else 1)
    assert [file for file in files if not re.fullmatch(pattern, file)] == []


@pytest.mark.parametrize(("format_name", "is_readable"), [("authors", True), ("atif", True), ("jsonl", False)])
def test_text_beyond_ascii_is_readable_in_documents_and_escaped_in_lines(tmp_path, format_name, is_readable):
    trace = made_trace()
    turns = [turn.model_copy(update={"assistant_text": "Größe: 5 €"}) for turn in trace.turns]
    export_traces([trace._replace(turns=tuple(turns), steps=())], tmp_path, format_name)
    written = "".join(file.read_text(encoding="utf-8") for file in tmp_path.rglob("*.json*"))
    assert ("Größe: 5 €" in written) == is_readable


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


def test_names_of_our_own_exports_come_back(played, tmp_path):
    traces = played.traces()
    export_traces(traces, tmp_path, "jsonl")
    for trace, rows in zip(traces, import_traces(tmp_path, SETTING), strict=True):
        assert [step.active_globals_before for step in rows.steps] == [s.active_globals_before for s in trace.steps]


@pytest.mark.parametrize("format_name", OWN)
def test_an_export_of_several_models_comes_back_as_a_whole(played, tmp_path, format_name):
    changes = {"purpose": "evaluation", "base": "scratch", "variant": "main", "split": "evaluation"}
    traces = []
    for model, seed in (("a", 1), ("b", 2)):
        for trace in played.traces():
            told = changes | {"episode_id": f"{model}-{trace.episode.episode_id}", "model_name": model,
                              "training_seed": seed}  # fmt: skip
            traces.append(trace._replace(episode=trace.episode.model_copy(update=told)))
    assert export_traces(traces, tmp_path / "out", format_name) == 8
    found = [rows.episode for rows in import_traces(tmp_path / "out", SETTING)]
    names = ("runtime_contract", "score", *CONDITION_COLUMNS)

    def told_of(episodes):
        return sorted(str([getattr(episode, name) for name in names]) for episode in episodes)

    assert told_of(found) == told_of([trace.episode for trace in traces])
