"""How Prefect caches a stage: a cache policy by the stage's identity, with results kept in the data folder."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from prefect import Task
from prefect.cache_policies import CachePolicy
from prefect.client.schemas.objects import State, TaskRun
from prefect.context import TaskRunContext
from prefect.logging.loggers import task_run_logger

from carryover.tasks.plans.identity import Stage
from carryover.tasks.plans.run import Run
from carryover.tasks.running.source_digest import canonical_json

P = ParamSpec("P")
R = TypeVar("R")


@dataclass
class StageIdentity(CachePolicy):
    """Caches a task by the identity of its stage, which the plan's other stages have no part in.

    The key holds the data folder as well: cached results name files in it.
    """

    identify: Callable[..., str] = canonical_json
    """Returns the identity for the task's inputs, which are passed by name."""

    def compute_key(
        self, task_ctx: TaskRunContext, inputs: dict[str, Any], flow_parameters: dict[str, Any], **kwargs: Any
    ) -> str:
        """Return `TASK-DIGEST`."""
        content = canonical_json([inputs["run"].cache_identity, self.identify(**inputs)])
        return f"{task_ctx.task.name}-{hashlib.sha256(content.encode()).hexdigest()[:32]}"


def say_reused(task: Task[..., Any], task_run: TaskRun, state: State) -> None:
    """Log what a task reused when it ended as Cached."""
    if state.name == "Cached":
        task_run_logger(task_run, task).info(
            "reused the result of an earlier run of equal identity (%s)", task_run.name
        )


def in_run(
    task: Task[P, R], run: Run, stage: Stage, *, is_there: bool = True, contract: str | None = None
) -> Task[P, R]:
    """Return a stage's task with its results in the run's data folder, tagged with the stage and its contract.

    It runs again where the caller asked for that (`refresh`), or where what its result names is gone.
    """
    is_again = stage in run.limits.refresh or not is_there
    tags = [f"stage:{stage}", *([] if contract is None else [f"contract:{contract}"])]
    return task.with_options(result_storage=run.home / "results", refresh_cache=is_again, tags=tags)
