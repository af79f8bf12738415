"""Checks whether a plan needs to run at all."""

import json
from collections.abc import Mapping
from itertools import chain

import polars as pl

from carryover.storage.zone.landing import LandingZone
from carryover.tasks.plans.identity import Stage, analysis_source, minor_versions
from carryover.tasks.plans.study_plan import StudyPlan
from carryover.tasks.services.folders import name_folders
from carryover.tasks.stages.attempts import unheard_attempts
from carryover.tasks.stages.runs import ANALYSIS_KEY
from carryover.tasks.traces.rows import EpisodeRow
from carryover.tasks.traces.vocabulary import FinishReason


def is_finished(plan: StudyPlan) -> bool:
    """Tell whether the study's latest run finished with nothing to retry.

    An earlier one does not count: the latest may have been stopped in the middle of a refresh. One with other minor
    versions of the packages behind it has to run again.
    """
    zone = LandingZone(name_folders().landing)
    is_asked = (pl.col("flow") == "reproduce_study") & (pl.col("plan_digest") == plan.digest)
    latest = zone.scan("runs").filter(is_asked).sort("started_at").tail(1)
    ends = zone.scan("run_ends").filter(pl.col("status") == "finished")
    finished = latest.join(ends, on="run_id", how="semi").collect()
    if finished.is_empty():
        return False
    packages = json.loads(finished["environment_json"].item()).get("packages", {})
    return has_these_versions(packages) and count_failed_episodes(zone, plan) == 0


def has_these_versions(packages: Mapping[str, str]) -> bool:
    """Tell whether decisive packages have the same minor versions here.

    Packages that are not installed here are not compared.
    """
    here: dict[str, str] = {}
    there: dict[str, str] = {}
    for stage in Stage:
        if stage is Stage.ANALYSIS:
            continue
        here |= minor_versions(stage)
        there |= minor_versions(stage, packages)
    return all(here[name] == there[name] for name in here.keys() & there.keys())


def is_analysed(plan: StudyPlan) -> bool:
    """Tell whether this source computed the plan's statistics last.

    Also where there are none.
    """
    zone = LandingZone(name_folders().landing)
    statistics = zone.scan("statistics").filter(pl.col("plan_digest") == plan.digest)
    runs = zone.scan("runs").join(statistics, on="run_id", how="semi").sort("started_at")
    environments = runs.select("environment_json").collect()["environment_json"].to_list()
    return not environments or json.loads(environments[-1]).get(ANALYSIS_KEY) == analysis_source()


def count_failed_episodes(zone: LandingZone, plan: StudyPlan) -> int:
    """Count a plan's failed episodes that the next start plays.

    Episodes that it reuses from other plans count, and only episodes of its own parts: a re-evaluation lands under a
    variant that the study does not play. A teacher's episode that has had all the attempts that the plan allows is
    given up; one that met an endpoint that was down is no such attempt.
    """
    variants = set(chain.from_iterable(part.episode_variants() for part in plan.parts))
    reused = zone.scan("reused_episodes").filter(pl.col("plan_digest") == plan.digest).select("episode_id").collect()
    ids = {*zone.landed_episodes(plan.digest), *reused["episode_id"]}
    is_own = pl.col("episode_id").is_in(sorted(ids)) & pl.col("variant").is_in(sorted(variants))
    episodes = zone.scan("episodes").filter(is_own).with_columns(plan_digest=pl.lit(plan.digest))
    limited = [part for part in plan.parts if part.teacher.maximum_attempts is not None]
    given_up = pl.lit(value=False)
    for part in limited:
        is_teachers = (pl.col("purpose") == "teacher") & (pl.col("variant") == part.variant)
        given_up |= is_teachers & (pl.col("attempt_count") >= part.teacher.maximum_attempts)
    unheard = unheard_attempts(zone) if limited else frozenset[str]()
    is_heard = ~pl.col("episode_id").is_in(sorted(unheard))
    newest_first = pl.col("finish_reason").sort_by(
        "started_at", "attempt", "episode_id", descending=[True, True, False]
    )
    attempts = episodes.group_by(EpisodeRow.SAME_EPISODE).agg(
        has_failed=newest_first.first() == FinishReason.ERROR.value, attempt_count=is_heard.sum()
    )
    return attempts.filter(pl.col("has_failed") & ~given_up).collect().height
