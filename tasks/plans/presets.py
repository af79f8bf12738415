"""The plans by name."""

from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Literal

from carryover.tasks.agent.episode_spec import EndpointSpec, EpisodeSpec
from carryover.tasks.datasets.dataset_spec import DatasetSpec, ValidationSpec
from carryover.tasks.plans.dose_studies import batch_parts, lifetime_parts, mixture_parts
from carryover.tasks.plans.laptop_full import (
    all_contracts,
    evaluation,
    laptop_full_parts,
    laptop_injected_control_parts,
    laptop_injected_parts,
    laptop_part,
)
from carryover.tasks.plans.pretrained import EPISODE_TOKENS, pretrained_part, serving_on
from carryover.tasks.plans.reinforced import REINFORCEMENT, reinforced_parts, rl_parts
from carryover.tasks.plans.seeds import EVALUATION_SEEDS
from carryover.tasks.plans.study_plan import EvaluationSpec, InstanceSetSpec, StudyPart, StudyPlan, TeacherSpec
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.serving.serving_spec import ServingSpec
from carryover.tasks.sft.training_spec import PAPER_SEED, TRAINING
from carryover.tasks.traces.vocabulary import Scale

PlanName = Literal[
    "smoke", "smoke_injected", "laptop", "laptop_full", "laptop_injected", "laptop_injected_control",
    "laptop_batches", "laptop_mixture", "laptop_lifetimes", "laptop_rl", "smoke_rl",
    "pretrained", "paper", "paper_injected",
]  # fmt: skip
DEFAULT_PLAN: PlanName = "laptop"


def _smoke_part() -> StudyPart:
    played = evaluation(count=6, max_turns=4, has_base_rows=True)
    short = played.model_copy(update={"episode": played.episode.model_copy(update={"max_completion_tokens": 64})})
    return laptop_part(train_count=40, training=TRAINING["smoke"], evaluations=(short,))


def _paper_part() -> StudyPart:
    teacher = TeacherSpec(
        kind="endpoint",
        # Gemini 3 Flash through Google's OpenAI-compatible address (section 4.1 names the model).
        endpoint=EndpointSpec(
            base_url="https://generativelanguage.googleapis.com/v1beta/openai",
            api_key_variable="GEMINI_API_KEY",
            extra_body={},
        ),
        model_name="gemini-3-flash-preview",
        episode=EpisodeSpec(temperature=None, max_completion_tokens=None, max_tokens=EPISODE_TOKENS),
    )
    evaluation_sets = (
        InstanceSetSpec(bucket=bucket, split="evaluation", count=100, first_seed=EVALUATION_SEEDS[bucket])
        for bucket in ("easy", "hard")
    )
    return StudyPart(
        base="hub",
        # Table 5 finds 1,900 traces per contract.
        train_instances=InstanceSetSpec(bucket="easy", split="train", count=1900, first_seed=0),
        teacher=teacher,
        validation=ValidationSpec(),
        dataset=DatasetSpec(),
        training=TRAINING["paper"],
        training_seeds=(PAPER_SEED,),
        evaluations=tuple(
            EvaluationSpec(instances=one, episode=EpisodeSpec(max_tokens=EPISODE_TOKENS), has_scripted_rows=True)
            for one in evaluation_sets
        ),
    )


_PARTS: dict[PlanName, tuple[Scale, Callable[[], Iterable[StudyPart]]]] = {
    "smoke": ("smoke", lambda: [_smoke_part()]),
    "smoke_injected": ("smoke", lambda: [all_contracts(_smoke_part())]),
    "laptop": ("laptop", lambda: [laptop_part()]),
    "laptop_full": ("laptop", laptop_full_parts),
    "laptop_injected": ("laptop", laptop_injected_parts),
    "laptop_injected_control": ("laptop", laptop_injected_control_parts),
    "laptop_batches": ("laptop", batch_parts),
    "laptop_mixture": ("laptop", mixture_parts),
    "laptop_lifetimes": ("laptop", lifetime_parts),
    "laptop_rl": ("laptop", rl_parts),
    "smoke_rl": ("smoke", lambda: reinforced_parts(_smoke_part(), REINFORCEMENT["smoke"])),
    "pretrained": ("pretrained", lambda: [pretrained_part()]),
    "paper": ("paper", lambda: [_paper_part()]),
    "paper_injected": ("paper", lambda: [all_contracts(_paper_part())]),
}


@cache
def _compose(name: PlanName, source: str) -> StudyPlan:
    """Return a plan of parts, run and served at its scale."""
    scale, parts = _PARTS[name]
    runtime = RuntimeSpec(require_sandbox="landlock+seccomp") if scale == "paper" else RuntimeSpec()
    return StudyPlan(
        name=name, scale=scale, runtime=runtime, serving=_serving(scale), parts=tuple(parts()), source=source
    )


def _serving(scale: Scale) -> ServingSpec:
    match scale:
        case "smoke":
            return ServingSpec(context_tokens=8192, max_concurrent=16)
        case "laptop":
            return ServingSpec(context_tokens=8192, max_concurrent=100)
        case "pretrained" | "paper":
            return serving_on("gpu")


PLANS: dict[str, Callable[[str], StudyPlan]] = {name: partial(_compose, name) for name in _PARTS}
"""The plans by name, as functions of the source's digest."""
