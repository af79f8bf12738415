"""Exports as their formats' owners read them."""

import pytest

from carryover.tasks.interchange.formats import export_traces
from tests.tasks.interchange.owners import HARBOR, INSPECT, PHOENIX, read_by


@pytest.fixture
def inspect_reader():
    return INSPECT


@pytest.fixture
def harbor_reader():
    return HARBOR


@pytest.fixture
def phoenix_reader():
    return PHOENIX


def counts(played):
    """Return the episodes, tokens and blocks that were played."""
    episodes = [trace.episode for trace in played.traces()]
    tokens = sum(episode.prompt_tokens + episode.completion_tokens for episode in episodes)
    return [len(episodes), tokens, sum(episode.step_count for episode in episodes)]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_inspect_reads_its_logs(played, tmp_path, inspect_reader):
    export_traces(played.traces(), tmp_path / "out", "inspect")
    assert read_by(inspect_reader, sorted((tmp_path / "out").rglob("*.json"))) == counts(played)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_harbor_reads_its_trajectories(played, tmp_path, harbor_reader):
    export_traces(played.traces(), tmp_path / "out", "atif")
    assert read_by(harbor_reader, sorted((tmp_path / "out").rglob("*.json"))) == counts(played)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_phoenix_reads_its_spans(played, tmp_path, phoenix_reader):
    export_traces(played.traces(), tmp_path / "out", "openinference")
    assert read_by(phoenix_reader, [*(tmp_path / "out").iterdir()]) == counts(played)
