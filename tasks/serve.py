"""Stage 5: an evaluation's models and the endpoint that serves them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from warnings import catch_warnings, simplefilter

from prefect import task
from prefect.cache_policies import NO_CACHE

from carryover.tasks.plans.identity import Stage, stage_digest
from carryover.tasks.plans.models import (
    ALL_CELLS,
    BASE_NAME,
    ChosenCells,
    StudyModel,
    model_name,
    reinforcement_name,
    served_models,
    trained_arms,
    training_name,
)
from carryover.tasks.plans.run import Run
from carryover.tasks.plans.shards import tokenizer_identity
from carryover.tasks.plans.study_plan import StudyPart
from carryover.tasks.services.progress import waiting_line
from carryover.tasks.services.whole_files import folder_written_whole
from carryover.tasks.serving.server import RunningServer, open_server
from carryover.tasks.serving.serving_spec import ServingSpec
from carryover.tasks.sft.card import ContractMismatchWarning, load_for_runtime
from carryover.tasks.sft.folder import base_identity, digest_of_tensors
from carryover.tasks.sft.load import quiet_libraries, save_untrained
from carryover.tasks.stages.runs import SERVER_KEY, start_run
from carryover.tasks.train import find_trained


@task(task_run_name="models-{part.name}", cache_policy=NO_CACHE, tags=["stage:evaluation"])
def find_models(run: Run, part: StudyPart, tokenizer: Path | None) -> list[StudyModel]:
    """Return the base and every trained model of a part.

    Raise `UserError` that names one that is not trained yet.
    """
    models = [_base_model(run, part, tokenizer)]
    for contract, seed in trained_arms(part):
        if part.reinforcement is None:
            folder = find_trained(run, training_name(part, contract, seed)).path
        else:
            folder = find_trained(run, reinforcement_name(part, contract, seed), Stage.REINFORCEMENT).path
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


@contextmanager
def serve_models(
    run: Run,
    part: StudyPart,
    models: Sequence[StudyModel],
    tell: Callable[[str], None],
    *,
    cells: ChosenCells = ALL_CELLS,
    serving: ServingSpec | None = None,
) -> Iterator[RunningServer]:
    """Yield a running endpoint for the models.

    No task, because it lasts for as long as others use it.

    The server is a run of its own that joins the one it serves: its environment holds its version and command line.
    A study runs every model under every contract on purpose: the log and `tell`, which speaks to the person, warn of
    each mismatch by name. `serving` says how they are served where that is not as the plan says.

    Raises:
        ContractMismatchError: A chosen cell is a mismatch, and nobody called it a cross-evaluation.
        UserError: A model's folder holds no finished training.
        ServerError: The server does not start, or does not serve a model.
        DeadServerError: A server that was started here died before the end of the block.
    """
    spec = serving or run.plan.serving
    log = run.folders.logs / f"serving-{run.run_id}-{part.variant}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    contracts = dict.fromkeys(chain.from_iterable(each.runtime_contracts for each in part.evaluations))
    if cells.runtime_contract is not None:
        contracts = dict.fromkeys((cells.runtime_contract,))
    with catch_warnings(record=True) as caught:
        simplefilter("always", ContractMismatchWarning)
        for model in models:
            for contract in contracts if model.kind != "base" else ():
                load_for_runtime(Path(model.path), contract, cells.may_cross)
    with log.open("a", encoding="utf-8") as file:
        for warning in caught:
            file.write(f"warning: {warning.message}\n")
            tell(f"cross-evaluation: {warning.message}")
    with ExitStack() as stack:
        with waiting_line(_wait_label(spec)) as show:
            server = stack.enter_context(open_server(spec, served_models(models), log, tell=show))
        command = list(server.command)
        if command:  # without the port, which is another one at every start
            place = command.index("--port")
            del command[place : place + 2]
        facts = {"engine": spec.engine, "url": spec.url, "version": server.version, "command": command}
        with start_run("serve_models", run.plan, run.limits, joined_run=run.run_id, environment={SERVER_KEY: facts}):
            yield server


def _wait_label(spec: ServingSpec) -> str:
    if spec.url is not None:
        return f"asking {spec.url}"
    return f"starting the {spec.engine} server"


def _base_model(run: Run, part: StudyPart, tokenizer: Path | None) -> StudyModel:
    """Return the base: scratch's initial weights, or that of adapters."""
    training = part.training
    architecture = part.training.architecture
    if architecture is not None:
        assert tokenizer is not None
        seed = part.training_seeds[0]
        words = tokenizer_identity(part, tokenizer)
        folder = run.folders.models / f"untrained-{stage_digest(Stage.TRAINING, architecture, seed, words)}"
        if not folder.exists():
            quiet_libraries()
            with folder_written_whole(folder) as unfinished:
                save_untrained(architecture, tokenizer, unfinished, seed)
        path = str(folder)
        identity = f"{digest_of_tensors(folder)}-{words}"
    elif part.own_base is not None:
        base = find_trained(run, training_name(part, None, part.own_base.seed))
        path = str(base.path)
        identity = base.digest
    else:
        assert training.base_model is not None
        path = training.base_model
        identity = base_identity(training.base_model, training.base_revision)
    return StudyModel(name=BASE_NAME, kind="base", path=path, revision=training.base_revision, identity=identity)
