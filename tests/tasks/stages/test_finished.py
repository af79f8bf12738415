from datetime import UTC, datetime

import pytest

from carryover.storage.zone.landing import LandingZone
from carryover.tasks.analysis.statistic_rows import StatisticGroup
from carryover.tasks.plans import identity
from carryover.tasks.plans.identity import Stage
from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits
from carryover.tasks.services.environment import package_versions
from carryover.tasks.stages.finished import count_failed_episodes, has_these_versions, is_analysed, is_finished
from carryover.tasks.stages.runs import start_run
from carryover.tasks.traces.rows import ErrorRow
from carryover.tasks.traces.study_rows import ReusedEpisodeRow
from carryover.tasks.traces.vocabulary import ErrorKind, FinishReason

PLAN = resolve_plan("smoke", Overrides(train_count=2))


@pytest.fixture
def zone(tmp_path, monkeypatch):
    """The landing zone of an empty data folder."""
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("CARRYOVER_LANDING", raising=False)
    return LandingZone(tmp_path / "data" / "landing")


@pytest.fixture
def land(zone, make_episode):
    def land_attempt(
        reason, attempt=0, *, instance_id="instance", plan=PLAN, variant="main", purpose="evaluation", error_type="",
        **values,
    ):  # fmt: skip
        name = f"{instance_id}-{variant}-{plan.digest}-{attempt}-{values.get('model_digest')}"
        (episode,) = make_episode(name, instance_id=instance_id)["episodes"]
        values |= {
            "finish_reason": reason,
            "attempt": attempt,
            "plan_digest": plan.digest,
            "variant": variant,
            "purpose": purpose,
        }
        error = ErrorRow(
            run_id="run", episode_id=name, turn=1, error_index=0, step=None, kind=ErrorKind.MODEL,
            error_type=error_type, message="", is_caught=False, is_injected=False, is_missing_name=False,
        )  # fmt: skip
        zone.write({"episodes": [episode.model_copy(update=values)], "errors": [error] if error_type else []}, "run")

    return land_attempt


def finish(flow="reproduce_study", plan=PLAN):
    with start_run(flow, plan, Limits()):
        pass


def test_plan_is_finished_with_a_run_of_the_whole_study(zone, land):
    land(FinishReason.FINISH_TOOL)
    assert not is_finished(PLAN)
    finish("collect_traces")
    assert not is_finished(PLAN)
    finish()
    assert is_finished(PLAN)
    assert not is_finished(resolve_plan("smoke"))


def land_statistic(zone):
    """Land a statistic of the plan in a run of its own, as the analysis does."""
    with start_run("analyse_study", PLAN, Limits()) as run:
        group = StatisticGroup(run.run_id, PLAN.digest, "main", "scratch", "declared", "names", "small")
        zone.write({"statistics": [group.row("mean", "cell", "score", pair_count=1, method="mean")]}, run.run_id)


def test_statistics_of_another_source_are_to_be_computed_again(zone, monkeypatch):
    assert is_analysed(PLAN)
    with monkeypatch.context() as earlier:
        earlier.setattr("carryover.tasks.stages.runs.analysis_source", lambda: "earlier")
        land_statistic(zone)
    assert not is_analysed(PLAN)
    assert is_analysed(resolve_plan("smoke"))
    land_statistic(zone)
    assert is_analysed(PLAN)


def test_episode_still_to_be_retried_leaves_the_plan_unfinished(zone, land):
    finish()
    land(FinishReason.ERROR)
    land(FinishReason.FINISH_TOOL, instance_id="another")
    assert count_failed_episodes(zone, PLAN) == 1
    assert not is_finished(PLAN)


def test_a_refresh_that_was_stopped_leaves_the_plan_unfinished(zone, land):
    finish()
    with pytest.raises(KeyboardInterrupt), start_run("reproduce_study", PLAN, Limits(refresh=(Stage.TRACES,))):
        raise KeyboardInterrupt
    assert not is_finished(PLAN)
    finish()
    assert is_finished(PLAN)


def test_an_error_of_a_reused_episode_counts(zone, land, make_row):
    finish()
    other = resolve_plan("smoke")
    land(FinishReason.ERROR, plan=other)
    assert is_finished(PLAN)
    name = f"instance-main-{other.digest}-0-None"
    row = make_row(ReusedEpisodeRow, run_id="run", plan_digest=PLAN.digest, episode_id=name)
    zone.write({"reused_episodes": [row]}, "run")
    assert count_failed_episodes(zone, PLAN) == 1


def test_a_later_attempt_makes_up_for_an_error(zone, land):
    finish()
    land(FinishReason.ERROR)
    land(FinishReason.ERROR, attempt=1)
    assert count_failed_episodes(zone, PLAN) == 1
    land(FinishReason.MAX_TURNS, attempt=2)
    assert count_failed_episodes(zone, PLAN) == 0
    assert is_finished(PLAN)


def test_only_new_attempts_of_a_retrained_model_decide(zone, land):
    finish()
    land(FinishReason.ERROR, model_digest="old", started_at=datetime(2026, 1, 1, tzinfo=UTC))
    land(FinishReason.FINISH_TOOL, model_digest="new", started_at=datetime(2026, 1, 2, tzinfo=UTC))
    assert is_finished(PLAN)
    land(FinishReason.ERROR, model_digest="newest", started_at=datetime(2026, 1, 3, tzinfo=UTC))
    assert count_failed_episodes(zone, PLAN) == 1


def test_teacher_episode_is_given_up_after_the_allowed_attempts(zone, land):
    plan = resolve_plan("smoke", Overrides(train_count=2, teacher_attempts=2))
    finish(plan=plan)
    land(FinishReason.ERROR, plan=plan, purpose="teacher")
    assert not is_finished(plan)
    land(FinishReason.ERROR, plan=plan, purpose="teacher", attempt=1)
    assert is_finished(plan)
    for attempt in range(3):  # a model's episode never is
        land(FinishReason.ERROR, plan=plan, attempt=attempt)
    assert count_failed_episodes(zone, plan) == 1


def test_attempt_at_a_down_endpoint_gives_no_episode_up(zone, land):
    plan = resolve_plan("smoke", Overrides(train_count=2, teacher_attempts=1))
    finish(plan=plan)
    values = {"plan": plan, "purpose": "teacher"}
    land(FinishReason.ERROR, error_type="EndpointDownError", **values)
    assert count_failed_episodes(zone, plan) == 1
    land(FinishReason.ERROR, error_type="ModelError", attempt=1, **values)
    assert is_finished(plan)


def test_errors_of_other_plans_and_reevaluations_do_not_count(zone, land):
    finish()
    land(FinishReason.ERROR, plan=resolve_plan("smoke"))
    land(FinishReason.ERROR, variant="reevaluation")
    assert is_finished(PLAN)


def test_a_plan_of_other_minor_versions_is_not_finished(zone, monkeypatch):
    with start_run("reproduce_study", PLAN, Limits()):
        pass
    assert is_finished(PLAN)
    newer = {**package_versions(), "torch": "99.1.0"}
    monkeypatch.setattr(identity, "package_versions", lambda: newer)
    assert not is_finished(PLAN)


def test_packages_absent_on_either_side_do_not_count():
    assert has_these_versions({})
    assert has_these_versions({"vllm": "0.33.0", "prefect": "1.0"})
    assert has_these_versions(dict(package_versions()))
    assert not has_these_versions({**package_versions(), "transformers": "4.0.0"})
