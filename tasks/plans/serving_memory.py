"""Memory that serving a plan's models takes."""

from typing import NamedTuple

from carryover.tasks.plans.estimate import start_shape
from carryover.tasks.plans.study_plan import StudyPart, StudyPlan
from carryover.tasks.serving.cpu.padded import COPIED_BYTES
from carryover.tasks.serving.serving_spec import ServingSpec
from carryover.tasks.sft.model_shape import ModelShape

OWN_NUMBER_BYTES = 4
"""Our server computes in float32."""
NUMBER_BYTES = {"bfloat16": 2, "float16": 2, "float32": 4}


class ServingNeed(NamedTuple):
    """Memory that the server of a part needs."""

    part: str
    model_count: int
    memory_bytes: int
    """Of the machine for our server on its CPU, of all GPUs together otherwise."""


def largest_serving_need(plan: StudyPlan) -> ServingNeed | None:
    """Return the largest need of a part's server, or None.

    None for other servers and bases of unknown size.
    """
    needs = [_need(plan.serving, part) for part in plan.parts]
    known = [need for need in needs if need is not None]
    return max(known, key=lambda need: need.memory_bytes, default=None)


def _need(serving: ServingSpec, part: StudyPart) -> ServingNeed | None:
    shape = start_shape(part.training)
    if shape is None or serving.engine == "external":
        return None
    trained_count = len(part.teacher.contracts) * len(part.training_seeds)
    count = 1 + trained_count
    if serving.engine in ("cpu", "gpu"):  # adapters are merged into copies of the base
        weights = count * shape.parameter_count * OWN_NUMBER_BYTES
        beside = COPIED_BYTES if serving.engine == "gpu" else serving.cache_bytes
        return ServingNeed(part.name, count, weights + beside)
    return ServingNeed(part.name, count, _vllm_bytes(serving, part, shape, trained_count))


def _vllm_bytes(serving: ServingSpec, part: StudyPart, shape: ModelShape, adapter_count: int) -> int:
    """Return the bytes of base, adapters and one full conversation's cache."""
    width = NUMBER_BYTES[serving.dtype]
    adapter = 0
    if part.training.lora is not None:
        adapter = shape.adapter_parameter_count(part.training.lora)
    cached = 2 * shape.layer_count * shape.key_value_head_count * shape.head_size
    numbers = shape.parameter_count + adapter_count * adapter + cached * serving.context_tokens
    return width * numbers
