import json

import pytest
from pydantic import ValidationError

from carryover.tasks.interchange.atif import atif_document, write_atif
from carryover.tasks.interchange.chat import chat_record
from carryover.tasks.interchange.recorded import RecordedTrace
from carryover.tasks.readers.episode_rows import import_trace
from carryover.tasks.readers.import_setting import ImportSetting
from carryover.tasks.readers.reading import read_traces, read_value
from carryover.tasks.readers.tally import Tally
from tests.tasks.interchange.atif_models import Trajectory


def read_one(record):
    (trace,) = read_value(record, Tally())
    return trace


@pytest.fixture
def document(played):
    return atif_document(played.traces()[0])


def test_the_readers_read_what_is_exported(played, tmp_path):
    write_atif(played.traces(), tmp_path)
    read = {trace.trace_id: trace for trace in read_traces(tmp_path)}
    assert set(read) == {trace.episode.episode_id for trace in played.traces()}
    for trace in played.traces():
        found = read[trace.episode.episode_id]
        assert found.declared_contract == trace.episode.shown_contract
        assert [block.code for block in found.blocks] == [step.code for step in trace.steps]
        assert [reply.text for reply in found.replies] == [turn.assistant_text for turn in trace.turns[1:]]
        assert found.blocks[0].output == trace.steps[0].output


def test_played_episodes_are_documents_of_the_format(played, document):
    for trace in played.traces():
        Trajectory.model_validate(atif_document(trace))
    assert document["schema_version"] == "ATIF-v1.8"
    assert [tool["function"]["name"] for tool in document["agent"]["tool_definitions"]] == ["python"]
    assert document["agent"]["name"] == "carryover"


def test_imported_episodes_are_documents_of_the_format(played):
    setting = ImportSetting(run_id="import", runtime_contract="persistent")
    for trace in played.traces():
        rows = import_trace(read_one(chat_record(trace)), setting)
        Trajectory.model_validate(atif_document(RecordedTrace(rows.episode, rows.turns, rows.steps, instance=None)))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda document: document.update(mood="calm"), "mood"),
        (lambda document: document.update(steps=[]), "steps"),
        (lambda document: document["steps"][0].update(step_id=7), "steps are not numbered"),
        (lambda document: document["steps"][0].update(metrics={}), "a step of system has a field of an agent's"),
        (lambda document: document["steps"][-1].update(tool_calls=None), "an observation answers"),
        (lambda document: document["agent"].pop("version"), "version"),
    ],
)
def test_what_the_format_does_not_allow_is_found(document, change, reason):
    change(document)
    with pytest.raises(ValidationError, match=reason):
        Trajectory.model_validate(document)


def test_every_observation_answers_a_call_of_its_step(document):
    agent_steps = [step for step in document["steps"] if step["source"] == "agent"]
    assert agent_steps
    for step in agent_steps:
        (call,) = step["tool_calls"]
        (result,) = step["observation"]["results"]
        assert result["source_call_id"] == call["tool_call_id"]
        assert call["function_name"] == "python"
        assert call["arguments"]["code"] in step["message"]


def test_totals_are_sums_over_steps(document, played):
    metrics = [step["metrics"] for step in document["steps"] if step["source"] == "agent"]
    final = document["final_metrics"]
    assert final["total_prompt_tokens"] == sum(each["prompt_tokens"] for each in metrics)
    assert final["total_completion_tokens"] == sum(each["completion_tokens"] for each in metrics)
    assert final["total_steps"] == len(document["steps"])


def test_the_contract_is_declared(played):
    for trace in played.traces():
        extra = atif_document(trace)["agent"]["extra"]["contract"]
        assert extra["runtime_contract"] == trace.episode.runtime_contract
        assert extra["declaration"]["contract"]["name"] == trace.episode.runtime_contract


def test_a_turn_without_a_block_has_no_call(played):
    trace = played.traces()[0]
    silent = trace._replace(steps=trace.steps[1:])
    step = next(step for step in atif_document(silent)["steps"] if step["source"] == "agent")
    assert "tool_calls" not in step
    assert "source_call_id" not in step["observation"]["results"][0]


def test_one_file_per_episode(played, tmp_path):
    paths = write_atif(played.traces(), tmp_path)
    assert len(set(paths)) == 4
    assert json.loads(paths[0].read_text(encoding="utf-8")) == atif_document(played.traces()[0])


def test_several_blocks_of_a_turn_are_calls_with_their_own_results(played):
    trace = played.traces()[0]
    both = [step.model_copy(update={"turn": 1}) for step in trace.steps[:2]]
    document = atif_document(trace._replace(steps=tuple(both)))
    Trajectory.model_validate(document)
    first = next(step for step in document["steps"] if step["source"] == "agent")
    assert [call["arguments"]["code"] for call in first["tool_calls"]] == [step.code for step in both]
    told = [json.loads(result["content"])["output"] for result in first["observation"]["results"]]
    assert told == [step.output for step in both]
