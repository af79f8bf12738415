"""Runs that compare arms on suites: opened, resumed, merged."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from carryover.storage.warehouse.merger import merge
from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.analysis.claims import published_claims
from carryover.tasks.cave.arms.arm import ArmName
from carryover.tasks.cave.arms.plan import SuitePlan
from carryover.tasks.cave.arms.play import CaseEpisode, episode_id
from carryover.tasks.cave.arms.statistics import arm_statistics
from carryover.tasks.cave.suites.catalogue import SuiteName, sampled_cases, suite_cases
from carryover.tasks.cave.tracing import agents_source
from carryover.tasks.services.environment import describe_environment
from carryover.tasks.services.folders import open_folders
from carryover.tasks.stages.runs import landed_run, new_run_id
from carryover.tasks.traces.result_rows import ClaimRow, StatisticRow
from carryover.tasks.traces.study_rows import RunRow
from carryover.tasks.traces.vocabulary import FinishReason

FLOW = "compare_arms"


@contextmanager
def open_comparison(plan: SuitePlan) -> Iterator[str]:
    """Yield the id of a new run, and land how it ends."""
    zone = LandingZone(open_folders().landing)
    run_id = new_run_id()
    row = RunRow(
        run_id=run_id,
        flow=FLOW,
        plan_name=f"arms with {plan.model}",
        plan_digest=plan.digest,
        scale=plan.scale,  # type: ignore[arg-type]
        plan_json=plan.model_dump_json(),
        environment_json=json.dumps(describe_environment()),
        source=agents_source(),
        started_at=datetime.now(UTC),
    )
    with landed_run(zone, row):
        yield run_id


def missing_case_episodes(plan: SuitePlan, suite: SuiteName, arm: ArmName) -> list[CaseEpisode]:
    """Return a suite's episodes that have not landed or ended with `error`."""
    landed = LandingZone(open_folders().landing).landed_episodes()
    episodes = []
    for case in sampled_cases(suite_cases(suite, plan.case_seed, plan.data), plan.case_limit):
        for replicate in range(plan.replicates):
            episode = CaseEpisode(case, arm, replicate)
            ending = landed.get(episode_id(episode, plan.digest, plan.instruction))
            while ending is FinishReason.ERROR:
                episode = episode._replace(attempt=episode.attempt + 1)
                ending = landed.get(episode_id(episode, plan.digest, plan.instruction))
            if ending is None:
                episodes.append(episode)
    return episodes


def merge_comparison(run_id: str) -> None:
    """Merge landed rows and land paired statistics and claims."""
    folders = open_folders()
    merge(folders.landing, folders.warehouse)
    with Warehouse.open(folders.warehouse) as warehouse:
        turns = warehouse.sql("select * from staging.counted_cave_turns").polars()
    rows = {StatisticRow.TABLE: arm_statistics(turns, run_id), ClaimRow.TABLE: published_claims(run_id)}
    LandingZone(folders.landing).write(rows, run_id)
    merge(folders.landing, folders.warehouse)
