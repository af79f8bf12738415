"""Caching of stages in Prefect by their identity."""

import hashlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from prefect import Task
from prefect.cache_policies import CachePolicy
from prefect.context import TaskRunContext
from prefect.filesystems import RemoteFileSystem
from prefect.settings import PREFECT_API_URL

from carryover.storage.zone.objects import OBJECTS_FOLDER
from carryover.tasks.plans.identity import Stage
from carryover.tasks.plans.run import Run
from carryover.tasks.services.source_digest import canonical_json

P = ParamSpec("P")
R = TypeVar("R")

_refreshed: set[tuple[str, Stage, str]] = set()
"""Run, stage and identity of what was refreshed in this process."""
_lock = threading.Lock()


@dataclass
class StageIdentity(CachePolicy):
    """Cache policy: the stage's identity and the landing zone."""

    identify: Callable[..., str] = canonical_json
    """Returns the identity for the task's inputs, which are passed by name."""

    def compute_key(
        self, task_ctx: TaskRunContext, inputs: dict[str, Any], flow_parameters: dict[str, Any], **kwargs: Any
    ) -> str:
        """Return `TASK-DIGEST`."""
        # The landing zone counts: a result names rows and files there, which no other zone has.
        content = canonical_json([inputs["run"].cache_identity, self.identify(**inputs)])
        return f"{task_ctx.task.name}-{hashlib.sha256(content.encode()).hexdigest()[:32]}"


def refreshing_once(run: Run, stage: Stage, identity: str) -> Run:
    """Return the run without its wish to refresh a refreshed result.

    Another part or flow of this run may have refreshed it already.
    """
    if stage not in run.limits.refresh:
        return run
    with _lock:
        is_done = (run.run_id, stage, identity) in _refreshed
        _refreshed.add((run.run_id, stage, identity))
    if not is_done:
        return run
    others = tuple(one for one in run.limits.refresh if one != stage)
    return run.model_copy(update={"limits": run.limits.model_copy(update={"refresh": others})})


def in_run(
    task: Task[P, R], run: Run, stage: Stage, *, is_there: bool = True, contract: str | None = None
) -> Task[P, R]:
    """Return a stage's task with its tags and its result storage.

    It runs again where the caller asked for that (`refresh`), or where what its result names is gone.
    """
    # Prefect remembers a result whose files somebody deleted since; only `is_there` tells.
    is_again = stage in run.limits.refresh or not is_there
    tags = [f"stage:{stage}", *([] if contract is None else [f"contract:{contract}"])]
    storage: Path | str = run.home / "results"
    if run.folders.is_shared:
        folder = f"{run.landing.rstrip('/')}/{OBJECTS_FOLDER}/results"
        storage = _saved_block(folder, PREFECT_API_URL.value()) if "://" in folder else Path(folder)
    return task.with_options(result_storage=storage, refresh_cache=is_again, tags=tags)


@cache
def _saved_block(url: str, _server: str | None) -> str:
    """Return the name of the block for object storage at a URL.

    Its credentials are those of the environment.
    """
    name = f"carryover-{hashlib.sha256(url.encode()).hexdigest()[:8]}"
    RemoteFileSystem(basepath=url).save(name, overwrite=True)
    return f"remote-file-system/{name}"
