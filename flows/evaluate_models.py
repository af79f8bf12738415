"""Stage 4 as a flow: every model of a plan under both contracts, over HTTP."""

from prefect import flow
from prefect.futures import PrefectFuture, wait

from flows.cli.messages import refuse_failure, say, say_errors
from flows.runners import interruptible, two_at_a_time
from storage.attempts import count_replicates
from storage.landing import LandingZone
from storage.runs import open_run
from tasks.agent.condition import Condition
from tasks.collect import Collected, collect_episodes
from tasks.find_models import find_models
from tasks.plans.clients import evaluation_client, scripted_client
from tasks.plans.models import ALL_CELLS, ChosenCells, evaluation_conditions, scripted_conditions
from tasks.plans.overrides import Overrides
from tasks.plans.presets import PlanName
from tasks.plans.run import Limits, Run
from tasks.plans.spec import EvaluationSpec, StudyPart
from tasks.provide_tokenizer import provide_tokenizer
from tasks.serve import serve_models


@flow(name="evaluate-models", task_runner=two_at_a_time())
def evaluate_models(
    scale: PlanName = "laptop",
    overrides: Overrides = Overrides(),  # noqa: B008 - frozen
    limits: Limits = Limits(),  # noqa: B008 - frozen
    run_id: str | None = None,
) -> None:
    """Evaluate every model of a plan under both contracts, on the same held-out instances.

    Args:
        scale: Name of the plan.
        overrides: Fields of the plan to change.
        limits: When to stop.
        run_id: Run to join; a new one without it.
    """
    with open_run("evaluate_models", scale, overrides, limits, run_id) as run:
        for part in run.plan.parts:
            evaluate_part(run, part)


def evaluate_part(
    run: Run,
    part: StudyPart,
    *,
    variant: str | None = None,
    chosen: ChosenCells = ALL_CELLS,
) -> None:
    """Serve a part's models and play the chosen cells of its evaluations.

    Args:
        run: The run that lands the episodes.
        part: Models and evaluations.
        variant: Variant under which every cell is played once more than it has been; without it the plan's own, as
            often as the plan says.
        chosen: The cells.
    """
    tokenizer = provide_tokenizer(run, part)
    models = chosen.served(find_models(run, part, tokenizer))
    with serve_models(run, part, models, tell=say, cells=chosen) as server:
        clients = evaluation_client(run, server.base_url), scripted_client(part)
        played: list[PrefectFuture[Collected]] = []
        for evaluation in part.evaluations:
            served, scripted = evaluation_conditions(part, evaluation, models), scripted_conditions(part, evaluation)
            for conditions, client, counted_by in zip((served, scripted), clients, (None, tokenizer), strict=True):
                for condition in filter(chosen.holds, conditions):
                    cell = condition if variant is None else condition.model_copy(update={"variant": variant})
                    played.append(
                        collect_episodes.submit(
                            run,
                            cell,
                            instances=evaluation.instances,
                            episode=evaluation.episode,
                            client=client,
                            tokenizer=counted_by,
                            replicates=_replicates(run, cell, evaluation, is_again=variant is not None),
                        )
                    )
        with interruptible(run.run_id, played):
            wait(played)
        collected = [future.result() for future in played]
        say_errors(collected)
    refuse_failure(collected)  # a server that died has been told by now


def _replicates(run: Run, cell: Condition, evaluation: EvaluationSpec, *, is_again: bool) -> int:
    """Return how often every episode of a cell is to have been played."""
    if not is_again:
        return evaluation.replicates
    return count_replicates(run, LandingZone(run.landing), cell, evaluation.instances) + 1
