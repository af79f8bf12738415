"""Identities of stages: digests of what decides their results."""

import hashlib
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from itertools import chain

from carryover.tasks.agent.episode_spec import EpisodeSpec
from carryover.tasks.services.environment import package_versions
from carryover.tasks.services.source_digest import HARNESS, canonical_json, folder_digest, source_digest


class Stage(StrEnum):
    """A stage of a study, with a cache of its own."""

    INSTANCES = "instances"
    TOKENIZER = "tokenizer"
    TRACES = "traces"
    DATA = "data"
    TRAINING = "training"
    REINFORCEMENT = "reinforcement"
    EVALUATION = "evaluation"
    ANALYSIS = "analysis"


SOURCES: dict[Stage, tuple[str, ...]] = {
    Stage.INSTANCES: (
        "carryover.tasks.generate",
        "carryover.tasks.knapsack.knapsack_spec",
        "carryover.tasks.knapsack.sampling",
        "carryover.tasks.knapsack.instance",
    ),
    Stage.TOKENIZER: ("carryover.tasks.provide_tokenizer", *HARNESS),
    Stage.TRACES: ("carryover.tasks.collect", *HARNESS),
    Stage.DATA: ("carryover.tasks.prepare", "carryover.tasks.stages.training_data"),
    Stage.TRAINING: ("carryover.tasks.train",),
    Stage.REINFORCEMENT: ("carryover.tasks.reinforce", *HARNESS),
    Stage.EVALUATION: (
        "carryover.tasks.collect",
        *HARNESS,
        "carryover.tasks.serve",
        "carryover.tasks.serving",
    ),
    Stage.ANALYSIS: (
        "carryover.tasks.analyse",
        "carryover.tasks.analysis",
        "carryover.sql.macros",
        "carryover.sql.staging",
        "carryover.sql.marts",
        "carryover.sql.published",
        "carryover.storage.warehouse.mart_sources",
    ),
}
"""Modules and packages whose source, with what they import, decides a stage's result."""


_MODELS = ("torch", "transformers", "peft", "tokenizers")
PACKAGES: dict[Stage, tuple[str, ...]] = {
    Stage.INSTANCES: (),
    Stage.TOKENIZER: ("tokenizers",),
    Stage.TRACES: ("tokenizers",),
    Stage.DATA: ("polars", "tokenizers", "transformers"),
    Stage.TRAINING: (*_MODELS, "accelerate", "bitsandbytes", "datasets", "trl"),
    Stage.REINFORCEMENT: (*_MODELS, "accelerate", "datasets", "trl"),
    Stage.EVALUATION: (*_MODELS, "vllm"),
    Stage.ANALYSIS: ("duckdb", "numpy", "polars", "scipy"),
}
"""Packages of others behind a stage: their minor versions count."""
PROMPTS = ("tasks/agent/prompts", "tasks/knapsack/prompts")
"""Folders of the prompt sets; an episode's set is an input of the stages that play it."""


def stage_digest(stage: Stage, *inputs: object) -> str:
    """Return a stage's identity: 16 hexadecimal digits.

    They stand for its inputs, the source behind it and the minor versions of the packages behind it.
    """
    # Minor versions alone: patches keep results, and studies would run again with every one.
    content = canonical_json([stage, inputs, stage_source(stage), minor_versions(stage)])
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def prompts_of(episode: EpisodeSpec) -> str:
    """Return the digests of an episode's prompt set."""
    return " ".join(folder_digest(f"{folder}/{episode.prompt_set}") for folder in PROMPTS)


def minor_versions(stage: Stage, installed: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the minor versions of a stage's packages: `2.13`.

    `installed` are versions by package; default: those that are installed here.
    """
    versions = package_versions() if installed is None else installed
    behind = (name for name in PACKAGES[stage] if name in versions)
    return {name: ".".join(versions[name].split(".")[:2]) for name in behind}


@cache
def current_source() -> str:
    """Return the digest of the row-producing source, as first seen."""
    stages = [stage for stage in Stage if stage is not Stage.ANALYSIS]
    producing = chain.from_iterable(SOURCES[stage] for stage in stages)
    return source_digest(tuple(dict.fromkeys(producing)))[:16]


def analysis_source() -> str:
    """Return the identity of the statistics' source and packages."""
    return stage_digest(Stage.ANALYSIS)


@cache
def stage_source(stage: Stage) -> str:
    """Return the digest of a stage's source, as first seen.

    It is as it was on disk when this process first asked.
    """
    return source_digest(SOURCES[stage], by_value=PROMPTS)
