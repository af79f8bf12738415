"""A run in Prefect's UI: name, tags, user errors as a line."""

import atexit
import logging
from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from prefect import Flow, tags
from prefect.client.orchestration import get_client
from prefect.context import FlowRunContext
from prefect.exceptions import FailedRun, ParameterTypeError
from prefect.states import Failed
from prefect.task_runners import ThreadPoolTaskRunner

from carryover.flows.cli.errors import one_line
from carryover.flows.cli.messages import silence_exit
from carryover.flows.key_blocks import load_keys
from carryover.tasks.plans.presets import DEFAULT_PLAN
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.study_plan import StudyPlan
from carryover.tasks.services.errors import UserError
from carryover.tasks.stages.runs import choose_study, landed_plan
from carryover.tasks.stages.side_by_side import AT_ONCE

if TYPE_CHECKING:
    from carryover.tasks.cave.arms.plan import SuitePlan

P = ParamSpec("P")
R = TypeVar("R")
MENDABLE = (UserError, ParameterTypeError, FailedRun)
"""User errors, as flows raise them and as Prefect hands them on."""

# A worker's log holds what its processes print, also of one that only loads a flow, as Prefect does to find its hooks.
atexit.register(silence_exit)


def name_run() -> str:
    """Return the flow run's name: plan and digest, as `laptop-2f3a`."""
    context = FlowRunContext.get()
    assert context is not None  # Prefect names a run in its context
    assert context.parameters is not None
    plan = _plan_of(context.parameters)
    if plan is None:
        return str(context.parameters.get("scale"))
    return f"{plan.name}-{plan.digest[:4]}"


def keep_to_a_line(record: logging.LogRecord) -> bool:
    """Keep a user error in the log to one line."""
    error = None
    if record.exc_info:
        error = record.exc_info[1]
    if not isinstance(error, MENDABLE):
        return True
    record.exc_info = record.exc_text = None
    return "Engine execution exited" not in record.getMessage()


def flow(stage: str, tasks_at_once: int = AT_ONCE) -> Callable[[Callable[P, R]], Flow[P, R]]:
    """Decorate a function as a Prefect flow, tagged by plan and stage.

    A run of a deployment that fails with a user error ends as `Failed` with that line, without
    a traceback.
    """
    for name in ("prefect.flow_runs", "prefect.task_runs"):
        logging.getLogger(name).addFilter(keep_to_a_line)

    def decorate(function: Callable[P, R]) -> Flow[P, R]:
        @wraps(function)
        def call(*positional: P.args, **named: P.kwargs) -> R:
            context = FlowRunContext.get()
            run = None if context is None else context.flow_run
            if context is None or run is None:
                return function(*positional, **named)
            assert context.parameters is not None  # Prefect calls a flow with its parameters
            plan = _plan_of(context.parameters)
            shared = [] if plan is None else [f"plan:{plan.digest}"]
            add_tags(*shared, f"stage:{stage}")
            try:
                load_keys(plan, *context.parameters.values())
                with tags(*shared):
                    return function(*positional, **named)
            except UserError as error:
                if run.deployment_id is None or run.parent_task_run_id is not None:
                    raise  # the caller reports it
                return cast(R, Failed(message=one_line(error)))

        runner: Any = ThreadPoolTaskRunner(max_workers=tasks_at_once)  # tasks wait for processes, so threads are enough
        return Flow(call, function.__name__.replace("_", "-"), flow_run_name=name_run, task_runner=runner)

    return decorate


def add_tags(*added: str) -> None:
    """Add tags to the current flow run, if there is one.

    A tag `kind:value` takes the place of others of its kind, which an earlier try of a run that is retried has left.
    """
    context = FlowRunContext.get()
    if context is None or context.flow_run is None:
        return
    run = context.flow_run
    kinds = {tag.partition(":")[0] for tag in added if ":" in tag}
    kept = [tag for tag in run.tags if ":" not in tag or tag.partition(":")[0] not in kinds]
    run.tags = sorted({*kept, *added})
    with get_client(sync_client=True) as client:
        client.update_flow_run(run.id, tags=run.tags)


def _plan_of(parameters: Mapping[str, Any]) -> "StudyPlan | SuitePlan | None":
    """Return the plan of a flow's parameters, or None without one.

    The flow itself refuses those.
    """
    if "plan" in parameters:
        return parameters["plan"]
    try:
        run_id = parameters.get("run_id") or parameters.get("study_run")
        if run_id is not None:
            return landed_plan(run_id)
        scale = parameters["scale"] or DEFAULT_PLAN
        if "overrides" in parameters:
            return resolve_plan(scale, parameters["overrides"])
        return landed_plan(choose_study(resolve_plan(scale)))
    except UserError:
        return None
