"""Stage 2 as a flow: paired teacher traces under both contracts."""

from prefect import flow
from prefect.futures import wait

from flows.cli.messages import refuse_failure, say_errors
from flows.runners import interruptible, two_at_a_time
from storage.runs import open_run
from tasks.collect import collect_episodes
from tasks.plans.clients import teacher_client
from tasks.plans.overrides import Overrides
from tasks.plans.preflight import check_teachers
from tasks.plans.presets import PlanName
from tasks.plans.run import Limits
from tasks.plans.spec import teacher_conditions
from tasks.provide_tokenizer import provide_tokenizer


@flow(name="collect-traces", task_runner=two_at_a_time())
def collect_traces(
    scale: PlanName = "laptop",
    overrides: Overrides = Overrides(),  # noqa: B008 - frozen
    limits: Limits = Limits(),  # noqa: B008 - frozen
    run_id: str | None = None,
) -> None:
    """Collect paired teacher traces of a plan, on the same instances under both contracts.

    Args:
        scale: Name of the plan.
        overrides: Fields of the plan to change.
        limits: When to stop.
        run_id: Run to join; a new one without it.
    """
    with open_run("collect_traces", scale, overrides, limits, run_id) as run:
        check_teachers(run.plan)
        for part in run.plan.parts:
            tokenizer = provide_tokenizer(run, part)
            client = teacher_client(run, part)
            played = [
                collect_episodes.submit(
                    run,
                    condition,
                    instances=part.train_instances,
                    episode=part.teacher.episode,
                    client=client,
                    tokenizer=tokenizer,
                    maximum_attempts=part.teacher.maximum_attempts,
                )
                for condition in teacher_conditions(part)
            ]
            with interruptible(run.run_id, played):
                wait(played)
            collected = [future.result() for future in played]
            say_errors(collected)
            refuse_failure(collected)
