"""Stage 5: the models that an evaluation asks for."""

from itertools import product
from pathlib import Path

from prefect import task
from prefect.cache_policies import NO_CACHE

from carryover.tasks.plans.identity import Stage, stage_digest
from carryover.tasks.plans.models import BASE_NAME, StudyModel, model_name, training_name
from carryover.tasks.plans.run import Run
from carryover.tasks.plans.shards import tokenizer_identity
from carryover.tasks.plans.study_plan import StudyPart
from carryover.tasks.services.whole_files import written_whole
from carryover.tasks.sft.card import load_for_runtime
from carryover.tasks.sft.folder import base_identity, digest_of_tensors
from carryover.tasks.sft.load import quiet_libraries, save_untrained
from carryover.tasks.train import find_trained


@task(task_run_name="models-{part.name}", cache_policy=NO_CACHE, tags=["stage:evaluation"])
def find_models(run: Run, part: StudyPart, tokenizer: Path | None) -> list[StudyModel]:
    """Return the base and every trained model of a part; raise `UserError` that names one that is not trained yet."""
    models = [_base_model(run, part, tokenizer)]
    for seed, contract in product(part.training_seeds, part.teacher.contracts):
        folder = find_trained(run, training_name(part, contract, seed)).path
        card = load_for_runtime(folder, contract)
        model = StudyModel(
            name=model_name(contract, seed),
            kind=card.kind,
            path=str(folder),
            digest=card.model_digest,
            identity=card.model_digest,
            train_contract=contract,
            training_seed=seed,
        )
        models.append(model)
    return models


def _base_model(run: Run, part: StudyPart, tokenizer: Path | None) -> StudyModel:
    """Return the base: the weights that a scratch training starts from, or the model that the adapters sit on."""
    training, architecture = part.training, part.training.architecture
    if architecture is not None:
        assert tokenizer is not None
        seed = part.training_seeds[0]
        words = tokenizer_identity(part, tokenizer)
        folder = run.folders.models / f"untrained-{stage_digest(Stage.TRAINING, architecture, seed, words)}"
        if not folder.exists():
            quiet_libraries()
            with written_whole(folder) as unfinished:
                save_untrained(architecture, tokenizer, unfinished, seed)
        path, identity = str(folder), f"{digest_of_tensors(folder)}-{words}"
    elif part.own_base is not None:
        base = find_trained(run, training_name(part, None, part.own_base.seed))
        path, identity = str(base.path), base.digest
    else:
        assert training.base_model is not None
        path, identity = training.base_model, base_identity(training.base_model, training.base_revision)
    return StudyModel(name=BASE_NAME, kind="base", path=path, revision=training.base_revision, identity=identity)
