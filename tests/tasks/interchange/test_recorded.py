import pytest

from carryover.tasks.interchange.recorded import with_paths
from carryover.tasks.services.errors import UserError


def test_an_episode_has_its_rows_in_order(played):
    traces = played.traces()
    assert [trace.episode.episode_id for trace in traces] == sorted(each.episode.episode_id for each in played.episodes)
    for trace in traces:
        assert [turn.turn for turn in trace.turns] == list(range(trace.episode.turn_count + 1))
        assert [step.step for step in trace.steps] == list(range(1, trace.episode.step_count + 1))
        assert [message.role for message in trace.opening] == ["system"] * 4 + ["user"]


def test_an_episode_without_opening_messages_has_none(played):
    trace = played.traces()[0]
    opening = trace.turns[0].model_copy(update={"observation": None})
    assert trace._replace(turns=(opening, *trace.turns[1:])).opening == []
    assert trace._replace(turns=trace.turns[1:]).opening == []
    assert trace._replace(turns=()).opening == []


def test_files_are_named_by_task_and_folders_by_condition(played):
    trace = played.traces()[0]
    assert trace.instance is not None
    assert trace.name == trace.instance.task_id
    assert trace._replace(instance=None).name == trace.episode.instance_id
    odd = trace.episode.model_copy(update={"instance_id": "a b/c:1+2"})
    assert trace._replace(instance=None, episode=odd).name == "a_b_c_1+2"
    contract = trace.episode.runtime_contract
    assert trace.folder == f"plan/scripted/main-teacher-teacher-untrained-{contract}-easy"
    again = trace._replace(episode=trace.episode.model_copy(update={"replicate": 2}))
    assert (again.name, again.folder) == (trace.name, f"{trace.folder}-replicate2")


def test_different_episodes_have_different_files(played):
    trace = played.traces()[0]
    changes = {
        "plan_digest": "other",
        "variant": "cap_80",
        "base": "both",
        "model_name": "org/model",
        "train_contract": "stateless",
        "runtime_contract": "injected",
        "bucket": "hard",
        "training_seed": 1,
        "visibility": "as_trained",
        "header": "none",
        "replicate": 1,
    }
    changed = [trace._replace(episode=trace.episode.model_copy(update={key: value})) for key, value in changes.items()]
    paths = {f"{each.folder}/{each.name}" for each in (trace, *changed)}
    assert len(paths) == 1 + len(changes)
    assert any("/org_model/" in path for path in paths)


def test_two_attempts_of_an_episode_have_no_two_files(played, tmp_path):
    trace = played.traces()[0]
    again = trace._replace(episode=trace.episode.model_copy(update={"attempt": 1, "episode_id": "again"}))
    with pytest.raises(UserError, match=rf"{trace.episode.episode_id} and again would both be .*export one attempt"):
        list(with_paths([trace, again], tmp_path, "", ".json"))
