"""Exports as their formats' owners read them."""

import pytest

from carryover.tasks.interchange.formats import export_traces
from tests.tasks.interchange.owners import HARBOR, INSPECT, PHOENIX, read_by

EPISODES = 10_000
SEEDS = 4


@pytest.fixture
def inspect_reader():
    return INSPECT


@pytest.fixture
def harbor_reader():
    return HARBOR


@pytest.fixture
def phoenix_reader():
    return PHOENIX


@pytest.fixture
def many(played):
    """Ten thousand episodes of four seeds: copies of played ones, each with a token more than the one before."""
    traces = played.traces()
    return [numbered(traces[number % len(traces)], number) for number in range(EPISODES)]


def numbered(trace, number):
    """Return a copy of an episode, on an instance of its own for each seed."""
    task = f"task-{number // SEEDS}"
    replaced = {
        "episode_id": f"episode-{number}",
        "instance_id": task,
        "training_seed": number % SEEDS,
        "completion_tokens": trace.episode.completion_tokens + number,
    }
    last = trace.turns[-1]
    longer = last.model_copy(update={"completion_tokens": last.completion_tokens + number})
    return trace._replace(
        episode=trace.episode.model_copy(update=replaced),
        turns=(*trace.turns[:-1], longer),
        instance=trace.instance.model_copy(update={"instance_id": task, "task_id": task}),
    )


def counts(traces):
    """Return the episodes, prompt tokens, completion tokens and blocks."""
    episodes = [trace.episode for trace in traces]
    prompt = sum(episode.prompt_tokens for episode in episodes)
    completion = sum(episode.completion_tokens for episode in episodes)
    return [len(episodes), prompt, completion, sum(episode.step_count for episode in episodes)]


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_inspect_reads_ten_thousand_episodes(many, tmp_path, inspect_reader):
    export_traces(many, tmp_path / "out", "inspect")
    logs = sorted((tmp_path / "out").rglob("*.json"))
    assert len(logs) == len({trace.folder for trace in many})
    assert read_by(inspect_reader, logs) == counts(many)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_harbor_reads_ten_thousand_trajectories(many, tmp_path, harbor_reader):
    export_traces(many, tmp_path / "out", "atif")
    assert read_by(harbor_reader, sorted((tmp_path / "out").rglob("*.json"))) == counts(many)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_phoenix_reads_the_spans_of_ten_thousand_episodes(many, tmp_path, phoenix_reader):
    export_traces(many, tmp_path / "out", "openinference")
    assert read_by(phoenix_reader, [*(tmp_path / "out").iterdir()]) == counts(many)
