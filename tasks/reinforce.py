"""Stage 4b: one reinforcement of a trained model."""

from functools import partial
from typing import Any

from prefect import task
from prefect.futures import PrefectFuture

from carryover.storage.zone.landing import LandingZone
from carryover.storage.zone.objects import has_objects, keep_folder
from carryover.tasks.plans.identity import Stage, stage_digest
from carryover.tasks.plans.models import reinforcement_name, training_name
from carryover.tasks.plans.run import Run
from carryover.tasks.plans.study_plan import StudyPart
from carryover.tasks.reinforcement.process import ReinforcementJob, reinforce_in_process
from carryover.tasks.reinforcement.reinforcement_spec import Reinforcement, reinforcement_need
from carryover.tasks.reinforcement.update_log import LOG_NAME, read_updates
from carryover.tasks.services.frozen_model import FrozenModel
from carryover.tasks.services.limits import check_uninterrupted
from carryover.tasks.sft.card import ModelCard, read_card
from carryover.tasks.sft.folder import clear
from carryover.tasks.sft.machine import MachineNeed
from carryover.tasks.stages.caching import StageIdentity, in_run, refreshing_once
from carryover.tasks.stages.progress import shown_progress
from carryover.tasks.stages.retrying import RETRIES
from carryover.tasks.stages.stage_results import note_stage
from carryover.tasks.traces.training_rows import PolicyUpdate, PolicyUpdateRow
from carryover.tasks.train import TrainedFolder, find_trained


class PlannedReinforcement(FrozenModel):
    """A reinforcement of a plan."""

    name: str
    identity: str
    contract: str
    """Contract of the model's training."""
    need: MachineNeed
    job: ReinforcementJob


def plan_reinforcement(run: Run, part: StudyPart, contract: str, seed: int) -> PlannedReinforcement:
    """Return the reinforcement of a part's trained model.

    Raise `UserError` if the model is not trained yet.
    """
    assert part.reinforcement is not None
    start = find_trained(run, training_name(part, contract, seed))
    runtime_contract = part.reinforced_under(contract)
    played = Reinforcement(
        spec=part.reinforcement,
        family=part.train_instances.family,
        bucket=part.train_instances.bucket,
        runtime_contract=runtime_contract,
        own_contracts=part.own_among(runtime_contract),
        runtime=run.plan.runtime_under(part.defined(runtime_contract)),
    )
    name = reinforcement_name(part, contract, seed)
    identity = stage_digest(Stage.REINFORCEMENT, played, seed, start.digest, part.train_instances.family_source)
    job = ReinforcementJob(
        played=played,
        start=start.path,
        output=run.folders.models / f"{name}-{identity}",
        seed=seed,
        plan_digest=run.plan.digest,
        cpu_threads=part.training.cpu_threads,
    )
    need = reinforcement_need(part.training)
    return PlannedReinforcement(name=name, identity=identity, contract=contract, need=need, job=job)


@task(
    task_run_name="{planned.name}",
    cache_policy=StageIdentity(identify=lambda run, planned: planned.identity),
    **RETRIES,
)
def reinforce_model(run: Run, planned: PlannedReinforcement) -> TrainedFolder:
    """Reinforce one model in a process and land a row per update.

    A finished one is kept, a killed one goes on from its last checkpoint.
    """
    job = planned.job
    if Stage.REINFORCEMENT in run.limits.refresh:
        clear(job.output, partial(check_uninterrupted, run.run_id))
    card = read_card(job.output) if job.is_finished else _reinforce_with_progress(run, planned)
    ids: dict[str, Any] = {"run_id": run.run_id, "reinforcement_id": job.output.name}
    facts = {
        "train_contract": planned.contract,
        "runtime_contract": job.played.runtime_contract,
        "training_seed": job.seed,
    }
    rows = [PolicyUpdateRow(**ids, **facts, **dict(each)) for each in read_updates(job.output / LOG_NAME)]
    LandingZone(run.landing).write({PolicyUpdateRow.TABLE: rows}, run.run_id)
    return TrainedFolder(**dict(keep_folder(run.folders, job.output)), digest=card.model_digest)


def submit_reinforcement(run: Run, planned: PlannedReinforcement) -> PrefectFuture[TrainedFolder]:
    """Submit a reinforcement, cached where its model still exists."""
    run = refreshing_once(run, Stage.REINFORCEMENT, planned.identity)
    is_there = planned.job.is_finished or run.folders.is_shared
    play = in_run(reinforce_model, run, Stage.REINFORCEMENT, is_there=is_there, contract=planned.contract)
    return play.submit(run, planned)


def note_reinforcement(run: Run, planned: PlannedReinforcement, made: TrainedFolder) -> None:
    """Record a plan's reinforced model.

    It is made again if its files are gone.
    """
    if not has_objects(run.folders, made.files.values()):
        play = in_run(reinforce_model, run, Stage.REINFORCEMENT, is_there=False, contract=planned.contract)
        made = play(run, planned)
    note_stage(run, Stage.REINFORCEMENT, planned.name, planned.identity, made)


def describe(update: PolicyUpdate) -> str:
    """Describe an update, for the end of a progress bar."""
    return (
        f"{update.missed_share:.0%} miss a name, score {update.mean_score:.3f}, {update.mean_reply_count:.1f} turns, "
        f"{update.mean_tokens:,.0f} tokens"
    )


def _reinforce_with_progress(run: Run, planned: PlannedReinforcement) -> ModelCard:
    job = planned.job
    label = f"GRPO, {planned.contract} in {job.played.runtime_contract} seed {job.seed}"
    done = 0
    with shown_progress(label, job.played.spec.most_updates, "updates") as advance:

        def show(update: PolicyUpdate) -> None:
            nonlocal done
            advance(update.policy_update - done, describe(update))
            done = update.policy_update

        return reinforce_in_process(job, show, partial(check_uninterrupted, run.run_id))
