"""Models trained for CaveAgent's suites: trained, served, asked, and their turns landed."""

import pytest

from carryover.storage.zone.landing import LandingZone
from carryover.tasks import train_arms
from carryover.tasks.cave.arms import lessons
from carryover.tasks.cave.arms.plan import SuitePlan
from carryover.tasks.play_cases import play_suite
from carryover.tasks.services.folders import HOME_VARIABLE, open_folders
from carryover.tasks.sft.training_spec import TRAINING

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def test_a_trained_model_plays_its_arm(tmp_path, monkeypatch):
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    monkeypatch.setattr(lessons, "SEED_COUNT", 1)
    monkeypatch.setattr(lessons, "DRILL_COUNT", 10)
    monkeypatch.setattr(train_arms, "TRAINING_SPEC", TRAINING["smoke"].model_copy(update={"max_steps": 2}))
    monkeypatch.setattr(train_arms, "_CONTEXT_TOKENS", 1600)
    arm = "stateless_code"
    plan = SuitePlan(model="laptop", suites=("multi_variable",), arms=(arm,), case_limit=1, replicates=1, max_steps=1)
    prepared = train_arms.prepare_lessons.fn(plan.case_seed)
    folder = train_arms.train_arm.fn(arm, prepared)
    assert train_arms.train_arm.fn(arm, train_arms.prepare_lessons.fn(plan.case_seed)) == folder
    with train_arms.served_plans(plan, {arm: folder}) as plans:
        assert play_suite.fn(plans[arm], "multi_variable", arm, "run") == (1, 0)
    turns = LandingZone(open_folders().landing).scan("cave_turns").collect()
    assert turns.height == 3
    assert set(turns["model_name"]) == {"laptop"}
    assert set(turns["is_oracle"]) == {False}
    assert turns["completion_tokens"].sum() > 0
