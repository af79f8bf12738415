"""Stage 4: the models that an evaluation asks for."""

from pathlib import Path

from prefect import task

from carryover.tasks.plans.models import BASE_NAME, StudyModel, model_folder, model_name, own_base_folder
from carryover.tasks.plans.run import Run
from carryover.tasks.plans.spec import StudyPart
from carryover.tasks.running.whole_files import written_whole
from carryover.tasks.sft.card import load_for_runtime
from carryover.tasks.sft.quiet import quiet_libraries
from carryover.tasks.sft.tiny import save_untrained


@task
def find_models(run: Run, part: StudyPart, tokenizer: Path | None) -> list[StudyModel]:
    """Return the base and every trained model of a part.

    Raises:
        UserError: A model is not trained yet; the message names its folder.
    """
    trained = [
        _trained_model(run, part, contract, seed) for seed in part.training_seeds for contract in part.teacher.contracts
    ]
    return [_base_model(run, part, tokenizer), *trained]


def _trained_model(run: Run, part: StudyPart, contract: str, seed: int) -> StudyModel:
    folder = model_folder(run, part, contract, seed)
    card = load_for_runtime(folder, contract)
    return StudyModel(
        name=model_name(contract, seed),
        kind=card.kind,
        path=str(folder),
        digest=card.model_digest,
        train_contract=contract,
        training_seed=seed,
    )


def _base_model(run: Run, part: StudyPart, tokenizer: Path | None) -> StudyModel:
    """Return the base: the weights that a scratch training starts from, or the model that the adapters sit on."""
    path, revision = part.training.base_model, part.training.base_revision
    if part.own_base is not None:
        path = str(own_base_folder(run, part))
    if part.training.architecture is not None:
        assert tokenizer is not None
        seed = part.training_seeds[0]
        folder = run.places.models / f"{run.plan.digest}-{part.variant}-untrained-{seed}"
        if not folder.exists():
            quiet_libraries()
            with written_whole(folder) as unfinished:
                save_untrained(part.training.architecture, tokenizer, unfinished, seed)
        path = str(folder)
    assert path is not None
    return StudyModel(
        name=BASE_NAME, kind="base", path=path, revision=revision, digest=None, train_contract=None, training_seed=None
    )
