"""The study on a pretrained model, by the paper's training."""

from typing import Literal

from carryover.tasks.agent.episode_spec import EpisodeSpec, PromptSet
from carryover.tasks.datasets.dataset_spec import DatasetSpec, ValidationSpec
from carryover.tasks.knapsack.knapsack_spec import KNAPSACK
from carryover.tasks.knapsack.teachers.habits import VARIED
from carryover.tasks.plans.seeds import EVALUATION_SEEDS, TRAIN_SEED
from carryover.tasks.plans.study_plan import EvaluationSpec, InstanceSetSpec, StudyPart, StudyPlan, TeacherSpec
from carryover.tasks.services.hub import expanded, source_title
from carryover.tasks.serving.serving_spec import OwnEngine, ServingSpec
from carryover.tasks.sft.model_shape import known_positions
from carryover.tasks.sft.training_spec import PAPER_SEED, TRAINING, BatchSpec, Device, TrainingSpec

PretrainedBucket = Literal["easy", "small"]
EPISODE_TOKENS = 1_000_000
"""Prompt and completion tokens of an episode at most: three times the mean of the base rows, which Table 2 finds to use
most. Ours, in place of the authors' 900 and 300 s: what the clock ends depends on the machine and on its load."""
EPISODE_SECONDS = 6 * 3600.0
"""A guard against an endpoint that hangs; a small machine may need hours for episodes that it plays side by side."""
CPU_PASS_TOKENS = 1500
"""Padded tokens of a forward pass on a CPU; a longer conversation is a pass of its own."""
CPU_ACCUMULATION = 4
CPU_EPISODES = 16
"""Episodes that a CPU server decodes together: a pass reads the weights once for all of them."""
CPU_CACHE_BYTES = 4 * 1024**3
GPU_EPISODES = 64
"""Episodes of a model that our server decodes together on a GPU, where a pass takes as long for one."""


def pretrained_part() -> StudyPart:
    """Return the paper's study with scripted teachers, on a GPU.

    No faults are injected: whether a pretrained model repairs an error by itself is a question of the study. A scripted
    policy repeats itself by design, so the check for repetitive loops is off.
    """
    episode = EpisodeSpec(max_tokens=EPISODE_TOKENS, timeout_seconds=EPISODE_SECONDS)
    played = InstanceSetSpec(bucket="easy", split="evaluation", count=100, first_seed=EVALUATION_SEEDS["easy"])
    return StudyPart(
        base="hub",
        train_instances=InstanceSetSpec(bucket="easy", split="train", count=1000, first_seed=TRAIN_SEED),
        teacher=TeacherSpec(kind="scripted", episode=episode, habits=VARIED),
        validation=ValidationSpec(maximum_loop_similarity=1.0),
        dataset=DatasetSpec(text_format="exact_wire"),
        training=TRAINING["pretrained"],
        training_seeds=(PAPER_SEED,),
        evaluations=(EvaluationSpec(instances=played, episode=episode, has_scripted_rows=True),),
    )


def in_bucket(part: StudyPart, bucket: PretrainedBucket) -> StudyPart:
    """Return a part on another bucket, under its tool-call cap."""
    cap = {"tool_call_cap": KNAPSACK[bucket].tool_call_cap}
    teacher_episode = part.teacher.episode.model_copy(update=cap)
    evaluations = []
    for each in part.evaluations:
        place = {"bucket": bucket, "first_seed": EVALUATION_SEEDS[bucket]}
        instances = each.instances.model_copy(update=place)
        episode = each.episode.model_copy(update=cap)
        evaluations.append(each.model_copy(update={"instances": instances, "episode": episode}))
    changes = {
        "train_instances": part.train_instances.model_copy(update={"bucket": bucket}),
        "teacher": part.teacher.model_copy(update={"episode": teacher_episode}),
        "evaluations": tuple(evaluations),
    }
    return part.model_copy(update=changes)


def with_episodes(
    part: StudyPart,
    *,
    prompt_set: PromptSet | None = None,
    max_turns: int | None = None,
    max_completion_tokens: int | None = None,
) -> StudyPart:
    """Return a part under other rules; only models' replies are cut off."""
    shared = {"prompt_set": prompt_set, "max_turns": max_turns}
    given = {name: value for name, value in shared.items() if value is not None}
    played = given if max_completion_tokens is None else given | {"max_completion_tokens": max_completion_tokens}
    teacher = part.teacher.model_copy(update={"episode": part.teacher.episode.model_copy(update=given)})
    evaluations = tuple(
        each.model_copy(update={"episode": each.episode.model_copy(update=played)}) for each in part.evaluations
    )
    return part.model_copy(update={"teacher": teacher, "evaluations": evaluations})


def on_gpu(training: TrainingSpec) -> TrainingSpec:
    """Return a training for a GPU.

    Without packing, `flex_attention` costs its compilation and saves nothing.
    """
    changes: dict[str, str] = {"device": "gpu"}
    if training.attention == "auto" and not training.batch.packing:
        changes["attention"] = "sdpa"
    return training.model_copy(update=changes)


def on_cpu(training: TrainingSpec) -> TrainingSpec:
    """Return a pretrained base's training for a CPU.

    A packed sequence costs attention's full square there.
    """
    batch = BatchSpec(
        max_length=training.batch.max_length,
        packing=False,
        tokens=CPU_PASS_TOKENS,
        accumulation=CPU_ACCUMULATION,
    )
    changes = {"device": "cpu", "method": "lora", "precision": "float32", "batch": batch}
    return training.model_copy(update=changes)


def serving_on(device: Device) -> ServingSpec:
    """Return the serving: vLLM on a GPU, our server on CPU."""
    return serving_by("vllm" if device == "gpu" else "cpu")


def serving_by(engine: OwnEngine) -> ServingSpec:
    """Return the serving by an engine."""
    match engine:
        case "vllm":
            return ServingSpec(engine="vllm")
        case "gpu":
            return ServingSpec(engine="gpu", max_concurrent=GPU_EPISODES)
    return ServingSpec(engine="cpu", max_concurrent=CPU_EPISODES, cache_bytes=CPU_CACHE_BYTES)


def fitted(plan: StudyPlan) -> StudyPlan:
    """Return a plan whose bases name their cards and positions.

    Sequences and the served context fit these positions.
    """
    parts = []
    serving = plan.serving
    for part in plan.parts:
        positions = base_positions(part.training)
        if positions is None:
            parts.append(_with_title(part))
            continue
        parts.append(with_context(_with_title(part), positions))
        fitting = min(serving.context_tokens, positions)
        serving = serving.model_copy(update={"context_tokens": fitting})
    return plan.model_copy(update={"parts": tuple(parts), "serving": serving})


def _with_title(part: StudyPart) -> StudyPart:
    title = source_title(part.training.base_model or "")
    return part.model_copy(update={"training": part.training.model_copy(update={"base_title": title})})


def with_context(part: StudyPart, tokens: int) -> StudyPart:
    """Return a part that trains on at most so many tokens."""
    batch = part.training.batch
    dataset = part.dataset
    length = min(batch.max_length, tokens)
    kept = min(dataset.maximum_sequence_tokens, length)
    training = part.training.model_copy(update={"batch": batch.model_copy(update={"max_length": length})})
    shorter = dataset.model_copy(update={"maximum_sequence_tokens": kept})
    return part.model_copy(update={"training": training, "dataset": shorter})


def base_positions(training: TrainingSpec) -> int | None:
    """Return a hub base's positions, or None.

    None for another base, and where its configuration is not here.
    """
    if training.base != "hub" or training.base_model is None:
        return None
    return known_positions(expanded(training.base_model), training.base_revision)
