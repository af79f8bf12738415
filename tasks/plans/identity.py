"""Identities of stages: digests of what decides a result, so that a change runs again what depends on it."""

import hashlib
from enum import StrEnum
from functools import cache

from carryover.tasks.services.source_digest import canonical_json, source_digest


class Stage(StrEnum):
    """A stage of a study whose result is cached apart from the others."""

    INSTANCES = "instances"
    TOKENIZER = "tokenizer"
    TRACES = "traces"
    DATA = "data"
    TRAINING = "training"
    EVALUATION = "evaluation"
    ANALYSIS = "analysis"


_HARNESS = ("carryover.tasks.agent", "carryover.tasks.knapsack", "carryover.tasks.runtime")
SOURCES: dict[Stage, tuple[str, ...]] = {
    Stage.INSTANCES: ("carryover.tasks.generate", "carryover.tasks.knapsack.knapsack_spec"),
    Stage.TOKENIZER: ("carryover.tasks.provide_tokenizer", *_HARNESS),
    Stage.TRACES: ("carryover.tasks.collect", *_HARNESS),
    Stage.DATA: ("carryover.tasks.prepare", "carryover.tasks.stages.training_data"),
    Stage.TRAINING: ("carryover.tasks.train",),
    Stage.EVALUATION: (
        "carryover.tasks.collect",
        *_HARNESS,
        "carryover.tasks.serve",
        "carryover.tasks.serving",
    ),
    Stage.ANALYSIS: (
        "carryover.tasks.analyse",
        "carryover.tasks.analysis",
        "carryover.sql.staging",
        "carryover.sql.marts",
        "carryover.sql.published",
        "carryover.storage.warehouse.mart_sources",
    ),
}
"""Modules and packages whose source, with what they import, decides a stage's result."""


def stage_digest(stage: Stage, *inputs: object) -> str:
    """Return a stage's identity: 16 hexadecimal digits over its inputs and the source behind it."""
    content = canonical_json([stage, inputs, stage_source(stage)])
    return hashlib.sha256(content.encode()).hexdigest()[:16]


@cache
def current_source() -> str:
    """Return the digest of the source that produces rows, as it was on disk when this process first asked."""
    producing = (entry for stage in Stage if stage is not Stage.ANALYSIS for entry in SOURCES[stage])
    return source_digest(tuple(dict.fromkeys(producing)))[:16]


def analysis_source() -> str:
    """Return the digest of the source that computes statistics, as it was on disk when this process first asked."""
    return stage_source(Stage.ANALYSIS)[:16]


@cache
def stage_source(stage: Stage) -> str:
    """Return the digest of the source behind a stage, as it was on disk when this process first asked."""
    return source_digest(SOURCES[stage])
