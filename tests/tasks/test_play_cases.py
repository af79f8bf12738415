"""A suite's missing episodes are played in batches, land, and are counted."""

from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from carryover.storage.zone.landing import LandingZone
from carryover.tasks import play_cases
from carryover.tasks.cave.arms.arm import ARMS
from carryover.tasks.cave.arms.dialogue import Speakers
from carryover.tasks.cave.arms.plan import SuitePlan
from carryover.tasks.cave.arms.play import CaseEpisode, Setting
from carryover.tasks.play_cases import BATCH, PlayedCount, play_suite
from carryover.tasks.traces.vocabulary import FinishReason
from tests.storage.conftest import build_episode


@pytest.fixture
def steps(tmp_path, monkeypatch):
    """Play episodes that end as given instead of cases; return what was opened, shown and played."""
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path))
    monkeypatch.delenv("CARRYOVER_LANDING", raising=False)
    seen = SimpleNamespace(opened=[], closed=[], shown=[], played=[], clients=[], ends=[], zone=None)
    seen.zone = LandingZone(tmp_path / "landing")
    runtime = SimpleNamespace(close=lambda: seen.closed.append(1))

    def missing(plan, suite, arm):
        case: Any = SimpleNamespace(name=suite)
        return [CaseEpisode(case, arm, replicate) for replicate in range(len(seen.ends))]

    async def play(episode, client, setting):
        seen.played.append((episode.replicate, setting))
        seen.clients.append(client)
        end = seen.ends[episode.replicate]
        if isinstance(end, Exception):
            raise end
        rows = build_episode(f"e-{episode.replicate}", finish_reason=end)
        return SimpleNamespace(recorded=SimpleNamespace(episode=rows["episodes"][0]), rows=rows)

    @contextmanager
    def bar(label, total, unit):
        seen.shown.append((label, total, unit))
        yield seen.shown.append

    monkeypatch.setattr(play_cases, "missing_case_episodes", missing)
    monkeypatch.setattr(play_cases, "open_runtime", lambda spec: seen.opened.append(spec) or runtime)
    monkeypatch.setattr(play_cases, "play", play)
    monkeypatch.setattr(play_cases, "progress_bar", bar)
    monkeypatch.setattr(play_cases, "Oracle", lambda told: ("oracle", told))
    monkeypatch.setattr(play_cases, "script", lambda case, arm: (case.name, arm))
    return seen


USER: Any = "user"
JUDGE: Any = "judge"
SPEAKERS = Speakers(USER, JUDGE)
PLAN = SuitePlan(concurrency=3, instruction="parallel", max_steps=4)


def test_episodes_land_batch_after_batch_and_are_counted(steps):
    steps.ends = [FinishReason.ANSWER] * BATCH + [FinishReason.ERROR, FinishReason.ERROR, FinishReason.ANSWER]
    assert play_suite.fn(PLAN, "types", "stateless_code", "run") == PlayedCount(BATCH + 3, 2)
    assert steps.shown == [("types, stateless_code", BATCH + 3, "episodes"), BATCH, 3]
    assert steps.zone.read("episodes").num_rows == BATCH + 3
    assert steps.zone.read("steps").num_rows == 2 * (BATCH + 3)
    assert len(steps.zone.manifests().bundles) == 2
    assert sorted(replicate for replicate, _ in steps.played) == list(range(BATCH + 3))
    assert steps.opened == [ARMS["stateless_code"].runtime_spec(PLAN.spec.runtime)]
    assert steps.closed == [1]


def test_an_oracle_plays_the_script_of_its_arm(steps):
    steps.ends = [FinishReason.ANSWER]
    play_suite.fn(PLAN, "types", "json", "run")
    assert steps.clients == [("oracle", ("types", ARMS["json"]))]
    ((_, setting),) = steps.played
    expected = Setting(PLAN.spec, setting.runtime, "run", PLAN.digest, "smoke", 3, "parallel", Speakers())
    assert setting == expected


def test_a_model_plays_beside_its_speakers(steps, monkeypatch):
    steps.ends = [FinishReason.ANSWER]
    monkeypatch.setattr(SuitePlan, "open_client", lambda plan: "client")
    monkeypatch.setattr(SuitePlan, "open_speakers", lambda plan: SPEAKERS)
    play_suite.fn(SuitePlan(model="m"), "types", "json", "run")
    assert steps.clients == ["client"]
    assert steps.played[0][1].speakers == SPEAKERS
    assert steps.played[0][1].scale == "paper"


def test_a_suite_without_missing_episodes_plays_nothing(steps):
    assert play_suite.fn(PLAN, "types", "json", "run") == PlayedCount(0, 0)
    assert (steps.played, steps.zone.manifests().bundles, steps.closed) == ([], (), [1])


def test_a_bug_closes_the_runtime_and_is_raised(steps):
    steps.ends = [ZeroDivisionError()]
    with pytest.raises(ZeroDivisionError):
        play_suite.fn(PLAN, "types", "json", "run")
    assert steps.closed == [1]
