"""The parts of the laptop study of four contracts: the environment's knowledge injected or not, names kept or not."""

from collections.abc import Iterator

from carryover.tasks.plans.hypotheses import read_hypotheses
from carryover.tasks.plans.laptop_full import common_part, evaluation, laptop_part
from carryover.tasks.plans.spec import StudyPart
from carryover.tasks.running.contract_name import ContractName

VARIANT = "four-contracts"
"""Apart from `main`: its models are matched over four arms, and its tokenizer has seen the traces of all of them."""


def all_contracts(part: StudyPart) -> StudyPart:
    """Return a part that trains on every contract's traces, and plays every model under every contract."""
    contracts = tuple(ContractName)
    played = tuple(each.model_copy(update={"runtime_contracts": contracts}) for each in part.evaluations)
    teacher = part.teacher.model_copy(update={"contracts": contracts})
    return part.model_copy(update={"variant": VARIANT, "teacher": teacher, "evaluations": played})


def laptop_injected_parts() -> Iterator[StudyPart]:
    """Yield the parts, one per training seed and base, in the order of the seeds; each can be run by its name.

    All play the main setting of `laptop_full` on its instances: in distribution, prompts declared. The scratch models
    then play it with the prompt of their training: a model from scratch cannot read words that no prompt of its traces
    had, which would count against it wherever objects are injected.
    """
    protocol = read_hypotheses().protocol
    count = protocol.injected_instances_per_cell
    declared, with_base = evaluation(count=count), evaluation(count=count, has_base_rows=True)
    as_trained = evaluation(count=count, visibility="as_trained")
    for seed in protocol.injected_seeds:
        yield all_contracts(laptop_part(name=f"scratch-{seed}", training_seeds=(seed,), evaluations=(declared,)))
        yield all_contracts(common_part(name=f"common-{seed}", training_seeds=(seed,), evaluations=(with_base,)))
    for seed in protocol.injected_seeds:
        name = f"scratch-{seed}-as-trained"
        yield all_contracts(laptop_part(name=name, training_seeds=(seed,), evaluations=(as_trained,)))


def laptop_injected_control_parts() -> Iterator[StudyPart]:
    """Yield the control whose models are trained on a random quarter of each contract's traces, with the first seed."""
    part = next(laptop_injected_parts())
    dataset = part.dataset.model_copy(update={"labels": "shuffled", "shuffle_seed": part.training_seeds[0]})
    changes = {"name": f"{part.name}-shuffled", "variant": f"{VARIANT}-shuffled", "dataset": dataset}
    yield part.model_copy(update=changes)
