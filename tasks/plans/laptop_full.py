"""The laptop studies' parts: one recipe, one thing changed per arm."""

from collections.abc import Iterator
from typing import Any

from carryover.tasks.agent.episode_spec import EpisodeSpec
from carryover.tasks.agent.faults import FaultSpec
from carryover.tasks.datasets.dataset_spec import DatasetSpec, ValidationSpec
from carryover.tasks.knapsack.knapsack_spec import KNAPSACK
from carryover.tasks.plans.hypotheses import read_hypotheses
from carryover.tasks.plans.seeds import EVALUATION_SEEDS, PLAIN_SEED, TRAIN_SEED
from carryover.tasks.plans.study_plan import EvaluationSpec, InstanceSetSpec, OwnBaseSpec, StudyPart, TeacherSpec
from carryover.tasks.sft.training_spec import TRAINING
from carryover.tasks.traces.vocabulary import ContractName

MAX_TURNS = 24
"""Twice what the policy needs for the largest instance of `small`, so that a model may repair every other turn."""
MAX_COMPLETION_TOKENS = 320
"""Longest reply."""
TIMEOUT_SECONDS = 3600.0
"""Turns end a small model's episode, on a busy machine too; a time limit would make results depend on load."""
UNTRAINED_TURNS = 2
"""Turns of the untrained base: random weights write noise up to the token limit in every one of them."""
SMALLER_DOSES = {"quarter": 4, "sixteenth": 16}
"""Parts of one pass over the data that the adapters on a base of both idioms are trained for as well."""
REPLICATES = 6
"""Replicates of every instance in the A/A control: three pairs, in which no episode counts twice."""
BINDING_CAP = 12
"""Tool calls per turn of the cap ablation: fewer than a stateless block makes, more than a persistent one does."""
FOUR_CONTRACTS = "four-contracts"
"""Apart from `main`: its models are matched over four arms, and its tokenizer has seen the traces of all of them."""


def laptop_part(*, train_count: int = 1000, **changes: Any) -> StudyPart:
    """Return the recipe of `make demo`, with `changes` of fields.

    Compact prompts, matched scripted teachers that show repairs of injected faults, equal training tokens in both
    arms, one whole model per contract from scratch. A scripted policy repeats itself by design, so the check for
    repetitive loops is off.
    """
    fields: dict[str, Any] = {
        "base": "scratch",
        "train_instances": InstanceSetSpec(bucket="small", split="train", count=train_count, first_seed=TRAIN_SEED),
        "teacher": TeacherSpec(kind="scripted", episode=teacher_episode()),
        "validation": ValidationSpec(maximum_loop_similarity=1.0),
        "dataset": DatasetSpec(
            text_format="exact_wire", matching="tokens", maximum_kept=train_count, maximum_sequence_tokens=8192
        ),
        # equal tokens leave some 0.94 million per arm; 1.25 passes are 1.2 million, under 4 minutes on one core
        "training": TRAINING["laptop_scratch"].model_copy(update={"epochs": 1.25}),
        "training_seeds": (0,),
        "evaluations": (evaluation(), untrained_evaluation()),
    }
    return StudyPart(**{**fields, **changes})


def teacher_episode(**changes: Any) -> EpisodeSpec:
    """Return how the small teachers play, with other fields as `changes`."""
    fields: dict[str, Any] = {
        "prompt_set": "compact",
        "max_turns": MAX_TURNS,
        "timeout_seconds": TIMEOUT_SECONDS,
        "tool_call_cap": KNAPSACK["small"].tool_call_cap,
        "faults": FaultSpec(),
        "varies_wording": True,
    }
    return EpisodeSpec(**{**fields, **changes})


def evaluation(
    bucket: str = "small", *, count: int = 100, max_turns: int = 0, tool_call_cap: int = 0, **fields: Any
) -> EvaluationSpec:
    """Return an evaluation on fresh instances of a bucket.

    The bucket gives turns and cap where none are given.
    """
    return EvaluationSpec(
        instances=InstanceSetSpec(bucket=bucket, split="evaluation", count=count, first_seed=EVALUATION_SEEDS[bucket]),
        episode=EpisodeSpec(
            prompt_set="compact",
            max_turns=max_turns or (2 * MAX_TURNS if bucket == "small_large" else MAX_TURNS),
            timeout_seconds=TIMEOUT_SECONDS,
            tool_call_cap=tool_call_cap or KNAPSACK[bucket].tool_call_cap,
            max_completion_tokens=MAX_COMPLETION_TOKENS,
        ),
        **{"has_base_rows": False, "has_scripted_rows": True, **fields},
    )


def untrained_evaluation(bucket: str = "small", *, count: int = 100) -> EvaluationSpec:
    """Return an evaluation of the base alone, in few turns."""
    alone = {"has_base_rows": True, "has_trained_rows": False, "has_scripted_rows": False}
    return evaluation(bucket, count=count, max_turns=UNTRAINED_TURNS, **alone)


def common_part(**changes: Any) -> StudyPart:
    """Return the recipe with adapters on a neutral base.

    The base knows neither idiom, as in the paper's protocol.
    """
    fields: dict[str, Any] = {
        "base": "common",
        "own_base": OwnBaseSpec(
            corpus="plain",
            instances=InstanceSetSpec(bucket="small", split="train", count=1500, first_seed=PLAIN_SEED),
            training=TRAINING["laptop_base"],
        ),
        # one pass, some 0.9 million tokens per arm
        "training": TRAINING["laptop_common"].model_copy(update={"epochs": 1.0}),
        "evaluations": (evaluation(has_base_rows=True),),
    }
    return laptop_part(**{**fields, **changes})


def laptop_full_parts() -> Iterator[StudyPart]:
    """Yield the full laptop study's parts, runnable by name.

    Per training seed and base: four trained cells, in and out of distribution, prompts declared and as trained. An
    untrained base has no contract to declare and no traces to be as trained on: it plays once per bucket, in few turns.
    Then, with one seed and the four trained cells: other rules, A/A (one model plays every instance again with other
    decoding seeds), a base of both contracts, shuffled labels and ablations. Last, further seeds at the main setting.
    """
    protocol = read_hypotheses().protocol
    first = protocol.training_seeds[0]
    count = protocol.instances_per_cell
    in_distribution = (evaluation(count=count),)
    untrained = []
    grid = []
    for bucket in ("small", "small_large"):
        untrained.append(untrained_evaluation(bucket, count=count))
        grid += [evaluation(bucket, count=count, visibility=shown) for shown in ("declared", "as_trained")]
    for seed in protocol.training_seeds:
        yield laptop_part(name=f"scratch-{seed}", training_seeds=(seed,), evaluations=tuple(grid))
    without_names = evaluation(count=count, header="none", variant="header-none")
    capped = evaluation(count=count, tool_call_cap=BINDING_CAP, variant="cap-binding")
    yield laptop_part(name="scratch-rules", training_seeds=(first,), evaluations=(*untrained, without_names, capped))
    again = evaluation(count=count, replicates=REPLICATES, variant="a-a")
    yield laptop_part(name="a-a", training_seeds=(first,), evaluations=(again,))
    with_base = tuple(each.model_copy(update={"has_base_rows": each.visibility == "declared"}) for each in grid)
    for seed in protocol.training_seeds:
        yield common_part(name=f"common-{seed}", training_seeds=(seed,), evaluations=with_base)
    yield from _both_idioms(first, count)
    plain = laptop_part(training_seeds=(first,), evaluations=in_distribution)
    # The control draws its halves anew for each seed, and has more seeds than the study itself: two trainings differ by
    # chance too, on the same data or on two halves, which few pairs of halves cannot tell from an effect of the labels.
    for seed in protocol.shuffled_seeds:
        drawn = plain.model_copy(update={"training_seeds": (seed,)})
        yield _shuffled(drawn, f"shuffled-labels-{seed}", "shuffled-labels")
    yield from _ablations(plain, count)
    for base, recipe in {"scratch": laptop_part, "common": common_part}.items():
        for seed in protocol.added_seeds:
            yield recipe(name=f"{base}-{seed}", training_seeds=(seed,), evaluations=in_distribution)


def _both_idioms(seed: int, count: int) -> Iterator[StudyPart]:
    """Yield a base of both idioms, alone and under adapter doses."""
    training = laptop_part().training.model_copy(update={"name": "laptop_both", "epochs": 0.6})
    own_base = OwnBaseSpec(corpus="both", training=training)
    based = evaluation(count=count, has_base_rows=True)
    plain = common_part(name="both", training_seeds=(seed,), base="both", own_base=own_base, evaluations=(based,))
    yield plain
    plain = plain.model_copy(update={"evaluations": (evaluation(count=count),)})
    for dose, divisor in SMALLER_DOSES.items():
        less = plain.training.model_copy(update={"epochs": plain.training.epochs / divisor})
        yield plain.model_copy(update={"name": f"both-{dose}-adapter", "variant": f"{dose}-adapter", "training": less})


def _shuffled(part: StudyPart, name: str, variant: str) -> StudyPart:
    """Return the control of shuffled labels.

    Its models train on a random share of each contract's traces, drawn by their seed.
    """
    dataset = part.dataset.model_copy(update={"labels": "shuffled", "shuffle_seed": part.training_seeds[0]})
    return part.model_copy(update={"name": name, "variant": variant, "dataset": dataset})


def _ablations(plain: StudyPart, count: int) -> Iterator[StudyPart]:
    """Yield the part with one thing changed at a time."""
    teacher = plain.teacher
    training = plain.training
    costly = plain.train_instances.model_copy(update={"bucket": "small_costly"})
    variants: dict[str, dict[str, Any]] = {
        "costly": {"train_instances": costly, "evaluations": (evaluation("small_costly", count=count),)},
        "no-table": {"teacher": teacher.model_copy(update={"prints_table": False})},
        "no-faults": {"teacher": teacher.model_copy(update={"episode": teacher_episode(faults=None)})},
        "no-variation": {"teacher": teacher.model_copy(update={"episode": teacher_episode(varies_wording=False)})},
        "half-training": {"training": training.model_copy(update={"epochs": training.epochs / 2})},
        "quarter-training": {"training": training.model_copy(update={"epochs": training.epochs / 4})},
    }
    for variant, changes in variants.items():
        yield plain.model_copy(update={"name": variant, "variant": variant, **changes})


def all_contracts(part: StudyPart) -> StudyPart:
    """Return a part that trains and plays under every contract."""
    contracts = tuple(ContractName)
    played = tuple(each.model_copy(update={"runtime_contracts": contracts}) for each in part.evaluations)
    teacher = part.teacher.model_copy(update={"contracts": contracts})
    return part.model_copy(update={"variant": FOUR_CONTRACTS, "teacher": teacher, "evaluations": played})


def laptop_injected_parts() -> Iterator[StudyPart]:
    """Yield a part per training seed and base, runnable by name.

    All play the main setting of `laptop_full` on its instances: in distribution, prompts declared. The scratch models
    then play it with the prompt of their training: a model from scratch cannot read words that no prompt of its traces
    had, which would count against it wherever objects are injected.
    """
    protocol = read_hypotheses().protocol
    count = protocol.injected_instances_per_cell
    declared = evaluation(count=count)
    with_base = evaluation(count=count, has_base_rows=True)
    as_trained = evaluation(count=count, visibility="as_trained")
    for seed in protocol.injected_seeds:
        yield all_contracts(laptop_part(name=f"scratch-{seed}", training_seeds=(seed,), evaluations=(declared,)))
        yield all_contracts(common_part(name=f"common-{seed}", training_seeds=(seed,), evaluations=(with_base,)))
    for seed in protocol.injected_seeds:
        name = f"scratch-{seed}-as-trained"
        yield all_contracts(laptop_part(name=name, training_seeds=(seed,), evaluations=(as_trained,)))


def laptop_injected_control_parts() -> Iterator[StudyPart]:
    """Yield the control of shuffled labels on four contracts.

    Models train on a random quarter of each contract's traces, with the first seed.
    """
    part = next(laptop_injected_parts())
    yield _shuffled(part, f"{part.name}-shuffled", f"{FOUR_CONTRACTS}-shuffled")
