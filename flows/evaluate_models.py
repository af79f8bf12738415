"""Stage 5 as a flow: every model under both contracts."""

from collections.abc import Sequence

from carryover.flows.cli.messages import warn
from carryover.flows.stage_flows import collect_shards, stage_flow
from carryover.tasks.collect import is_collected
from carryover.tasks.nightly.night_spec import NightObject
from carryover.tasks.plans.identity import Stage
from carryover.tasks.plans.models import ALL_CELLS, ChosenCells, StudyModel
from carryover.tasks.plans.run import Run
from carryover.tasks.plans.shards import ShardSpec, evaluation_shards
from carryover.tasks.plans.study_plan import StudyPart
from carryover.tasks.provide_tokenizer import open_tokenizer
from carryover.tasks.serve import find_models, serve_models
from carryover.tasks.services.errors import first_line
from carryover.tasks.serving.process import DeadServerError
from carryover.tasks.serving.serving_spec import ServingSpec

SERVER_STARTS = 3
"""Starts of a part's model server, which is started again where it dies."""
UNSERVED = "http://unserved.invalid/v1"
"""Address of models that nobody serves; no episode's identity depends on it."""


@stage_flow("evaluation")
def evaluate_models(run: Run) -> None:
    """Evaluate a plan's models under both contracts, on held-out instances."""
    for part in run.plan.parts:
        evaluate_part(run, part)


def evaluate_part(
    run: Run, part: StudyPart, *, chosen: ChosenCells = ALL_CELLS, night: NightObject | None = None
) -> None:
    """Serve a part's models and play the chosen cells.

    With `night`, the episodes belong to a re-evaluation's series. Nothing is served where every episode has landed.
    """
    model = None if night is None else night.model()
    models = _served_models(run, part, chosen) if model is None else [model]
    serving = run.plan.serving if night is None else night.serving(run.plan.serving)

    def shards_at(base_url: str) -> list[ShardSpec]:
        return _chosen_shards(_shards(run, part, models, base_url, serving), chosen, night)

    unserved = shards_at(UNSERVED)
    if _have_landed(run, unserved):
        collect_shards(run, unserved)
        return
    for restarts_left in reversed(range(SERVER_STARTS)):
        try:
            with serve_models(run, part, models, tell=warn, cells=chosen, serving=serving) as server:
                collect_shards(run, shards_at(server.base_url))
            return
        except DeadServerError as error:
            if not restarts_left:
                raise
            warn(f"{first_line(error)}; starting it again")


def _have_landed(run: Run, shards: Sequence[ShardSpec]) -> bool:
    """Tell whether no episode is to be played, so that no server need be started."""
    return Stage.EVALUATION not in run.limits.refresh and all(is_collected(run, shard) for shard in shards)


def _chosen_shards(shards: list[ShardSpec], chosen: ChosenCells, night: NightObject | None) -> list[ShardSpec]:
    """Return the chosen cells' shards, in a night's series if given."""
    wanted = [shard for shard in shards if chosen.holds(shard.condition)]
    if night is None:
        return wanted
    return [night.shard(shard) for shard in wanted]


def _shards(
    run: Run, part: StudyPart, models: Sequence[StudyModel], base_url: str, serving: ServingSpec
) -> list[ShardSpec]:
    shards: list[ShardSpec] = []
    for evaluation in part.evaluations:
        shards += evaluation_shards(run, part, evaluation, models, base_url=base_url, serving=serving)
    return shards


def _served_models(run: Run, part: StudyPart, chosen: ChosenCells) -> list[StudyModel]:
    return chosen.served(find_models(run, part, open_tokenizer(run, part)))
