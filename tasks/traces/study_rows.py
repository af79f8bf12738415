"""Rows about runs and the stages of plans."""

from datetime import datetime

from carryover.tasks.traces.rows import Row
from carryover.tasks.traces.vocabulary import RunScale, RunStatus


class RunRow(Row, table="runs", key=("run_id",)):
    """One execution of a flow that lands rows."""

    flow: str
    plan_name: str
    plan_digest: str
    scale: RunScale
    plan_json: str
    """The resolved plan."""
    environment_json: str
    """Python, package versions, CPU or GPU, and the run that this one is a stage of, as JSON."""
    source: str | None = None
    """Digest of the source of the packages that produce rows, as it was when the run began; null for imports."""
    started_at: datetime


class RunEndRow(Row, table="run_ends", key=("run_id",)):
    """How a run ended; without one it was killed or goes on."""

    status: RunStatus
    message: str
    finished_at: datetime


class PlanStageRow(Row, table="plan_stages", key=("plan_digest", "stage", "name"), latest_wins=True):
    """A plan's result of a stage, made by its run or reused."""

    plan_digest: str
    stage: str
    """Stage of the study: `tokenizer`, `traces`, `data`, `training` or `evaluation`."""
    name: str
    """Tells the results of a stage apart, e.g. `main-scratch-persistent-0`."""
    stage_digest: str
    """Identity of the stage: its inputs and the source behind it; equal for plans that share the result."""
    result_json: str | None
    """Where the result lies and what it is, for the stages after it; null for rows, and where the stage failed."""


class ReusedEpisodeRow(Row, table="reused_episodes", key=("plan_digest", "episode_id")):
    """An episode that a plan takes from another of equal stage identity."""

    plan_digest: str
    """The plan that reuses it; the episode's own row names the plan that played it."""
    episode_id: str
