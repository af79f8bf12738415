"""Stage 4 as a flow: every model of a plan under both contracts, over HTTP."""

from prefect import flow

from carryover.flows.cli.messages import say
from carryover.flows.runners import collect_shards, two_at_a_time
from carryover.storage.study.attempts import count_replicates
from carryover.storage.study.runs import open_run
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.find_models import find_models
from carryover.tasks.plans.models import ALL_CELLS, ChosenCells
from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.plans.presets import PlanName
from carryover.tasks.plans.run import Limits, Run
from carryover.tasks.plans.shards import ShardSpec, evaluation_shards
from carryover.tasks.plans.spec import StudyPart
from carryover.tasks.provide_tokenizer import open_tokenizer
from carryover.tasks.serve import serve_models


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
    tokenizer = open_tokenizer(run, part)
    models = chosen.served(find_models(run, part, tokenizer))
    with serve_models(run, part, models, tell=say, cells=chosen) as server:
        shards = [
            shard
            for evaluation in part.evaluations
            for shard in evaluation_shards(run, part, evaluation, models, base_url=server.base_url, tokenizer=tokenizer)
            if chosen.holds(shard.condition)
        ]
        if variant is not None:
            shards = [_once_more(run, shard, variant) for shard in shards]
        collect_shards(run, shards)


def _once_more(run: Run, shard: ShardSpec, variant: str) -> ShardSpec:
    """Return a shard under another variant, with one replicate more than has landed."""
    condition = shard.condition.model_copy(update={"variant": variant})
    again = shard.model_copy(update={"condition": condition})
    count = count_replicates(LandingZone(run.landing), again)
    return again.model_copy(update={"replicates": count + 1})
