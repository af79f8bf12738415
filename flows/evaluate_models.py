"""Stage 4 as a flow: every model of a plan under both contracts, over HTTP."""

from prefect import flow

from carryover.flows.cli.messages import say
from carryover.flows.runners import collect_shards, stage_of_plan, two_at_a_time
from carryover.storage.study.attempts import count_replicates
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.find_models import find_models
from carryover.tasks.plans.models import ALL_CELLS, ChosenCells
from carryover.tasks.plans.run import Run
from carryover.tasks.plans.shards import evaluation_shards
from carryover.tasks.plans.spec import StudyPart
from carryover.tasks.provide_tokenizer import open_tokenizer
from carryover.tasks.serve import serve_models


@flow(name="evaluate-models", task_runner=two_at_a_time())
@stage_of_plan()
def evaluate_models(run: Run) -> None:
    """Evaluate every model of a plan under both contracts, on the same held-out instances."""
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
            zone = LandingZone(run.landing)
            for place, shard in enumerate(shards):
                condition = shard.condition.model_copy(update={"variant": variant})
                again = shard.model_copy(update={"condition": condition})
                count = count_replicates(run, zone, again)
                shards[place] = again.model_copy(update={"replicates": count + 1})
        collect_shards(run, shards)
