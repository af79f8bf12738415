"""Plays an episode of the study, from instance to rows."""

import time
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any, NamedTuple

from carryover.tasks.agent.condition import Condition, episode_id
from carryover.tasks.agent.episode_spec import EpisodeSpec
from carryover.tasks.agent.events import retryable
from carryover.tasks.agent.family import Environment, Family, Instance, Score
from carryover.tasks.agent.machine import EpisodeMachine, Limits
from carryover.tasks.agent.own_contracts import own_texts
from carryover.tasks.agent.prompt_format import PLAIN, SILENT, Opening, open_wire, prompt_digest, read_prompts
from carryover.tasks.agent.protocol import CountTokens, ModelClient
from carryover.tasks.agent.recorder import EpisodeRecorder, RecordedEpisode
from carryover.tasks.agent.scripted import ScriptedModel, VariedModel
from carryover.tasks.agent.study_speaker import StudySpeaker, contract_in_force
from carryover.tasks.agent.variation import draw_variation
from carryover.tasks.runtime.backend import Runtime
from carryover.tasks.services.source_digest import canonical_json, source_digest
from carryover.tasks.traces.vocabulary import FinishReason, RunScale

_PLAYED_BY = ("carryover.tasks.agent", "carryover.tasks.runtime")
"""The machine and the runtime: with the family's module, the source that a declaration names."""


class PlannedEpisode(NamedTuple):
    """An episode that is still to be run."""

    instance: Instance
    replicate: int = 0
    """Repetition with other decoding seeds."""
    attempt: int = 0
    """0 for the first; an episode that ended with `error` runs again as the next."""


@dataclass(frozen=True)
class EpisodeContext:
    """Fields that the episodes of one condition share."""

    family: Family
    condition: Condition
    client: ModelClient | VariedModel
    runtime: Runtime
    spec: EpisodeSpec
    run_id: str
    plan_digest: str
    stage_digest: str
    """Identity of the stage; with condition, instance, replicate and attempt it makes the episode's id."""
    scale: RunScale
    count_tokens: CountTokens | None = None
    """Tokens of a conversation by the training tokenizer, for `training_tokens`."""
    concurrency: int = 1
    """Episodes played at a time at most."""
    block_threads: Executor | None = None
    """A thread for each episode: blocks that run long would hold up the others. None for the event loop's own."""
    opening_threads: Executor | None = None
    """A thread for each processor: many at once would keep the event loop from sending the first requests."""


async def run_episode(context: EpisodeContext, episode: PlannedEpisode) -> RecordedEpisode:
    """Play one episode to its end and return its rows.

    Errors of agent code, of tools and of the model are observations or endings, never exceptions here. Bindings are
    verified before every step; a `ContractViolationError` must stop the run, and the episode is not recorded. Of the
    instance, only the goal's values reach the model.
    """
    started_at = datetime.now(UTC)
    started = time.perf_counter()
    environment = context.family.open(episode.instance)
    name = _name_of(context, episode)
    recorder = EpisodeRecorder(context.run_id, name, tuple(environment.tools))
    speaker = open_speaker(context, episode, environment)
    recorder.record_opening(speaker.messages)
    speaker.open(
        context.runtime,
        recorder,
        salt=f"{context.stage_digest}/{episode.replicate}",
        opening_threads=context.opening_threads,
        block_threads=context.block_threads,
    )
    player = _player(context, episode)
    machine = EpisodeMachine(player, speaker, episode_limits(context.spec))
    try:
        async for event in machine.play():
            recorder.watch(event)
    finally:
        await speaker.close(recorder, context.block_threads)
    answer = retryable(machine.answer)
    training_tokens = None if context.count_tokens is None else context.count_tokens(speaker.messages)
    score = environment.score()
    return recorder.finish(
        {
            **_fields_of_condition(context),
            "instance_id": episode.instance.instance_id,
            "replicate": episode.replicate,
            "attempt": episode.attempt,
            "finish_reason": answer.stop,
            "error_message": answer.text or None,
            **_fields_of_score(context.family, score),
            "training_tokens": training_tokens,
            "habits_json": _habits_json(player),
            "wall_seconds": time.perf_counter() - started,
            "started_at": started_at,
        },
        machine.unkept,
    )


def open_speaker(context: EpisodeContext, episode: PlannedEpisode, environment: Environment) -> StudySpeaker:
    """Return the speaker of an episode, with the opening messages written."""
    condition = context.condition
    family = context.family
    spec = context.spec
    instance_id = episode.instance.instance_id
    shown = condition.shown_contract
    variation = PLAIN
    if not spec.declares_contract:
        variation = SILENT
    elif spec.varies_wording:
        variation = draw_variation(shown, instance_id, family.known_names)
    opening = Opening(
        goal_values=family.goal_values(episode.instance),
        contract=shown,
        tool_count=len(environment.tools),
        tool_call_cap=spec.tool_call_cap,
        usual_tool_call_cap=family.usual_tool_call_cap(episode.instance),
    )
    return StudySpeaker(
        condition,
        spec,
        environment,
        open_wire(spec.prompt_set, _texts(context), variation),
        opening,
        instance_id=instance_id,
        replicate=episode.replicate,
        episode_id=_name_of(context, episode),
    )


def episode_limits(spec: EpisodeSpec) -> Limits:
    """Return an episode's budgets."""
    return Limits(
        replies=spec.max_turns,
        replies_spent=FinishReason.MAX_TURNS,
        tokens=spec.max_tokens,
        seconds=spec.timeout_seconds,
    )


def declare_contract(context: EpisodeContext) -> str:
    """Return the declaration as canonical JSON, equal for equal episodes."""
    condition = context.condition
    spec = context.spec
    shown = condition.shown_contract
    content = {
        **spec.model_dump(exclude={"stateless_scope"}),
        "contract": contract_in_force(condition, spec),
        "shown_contract": shown,
        "visibility": condition.visibility,
        "header": condition.header,
        "prompt_digest": prompt_digest(_texts(context), shown),
        "code_digest": _code_digest(type(context.family).__module__)[:16],
        "backend": context.runtime.backend,
        "sandbox_level": context.runtime.sandbox_level,
    }
    return canonical_json(content)


def _texts(context: EpisodeContext) -> Mapping[str, str]:
    prompt_set = context.spec.prompt_set
    family = context.family
    texts = read_prompts(prompt_set, family.prompts(prompt_set))
    shown = context.condition.defined(context.condition.shown_contract)
    return {**own_texts(shown, texts, family.known_names), **texts}


def _name_of(context: EpisodeContext, episode: PlannedEpisode) -> str:
    instance_id = episode.instance.instance_id
    return episode_id(context.condition, instance_id, context.stage_digest, episode.replicate, episode.attempt)


def _player(context: EpisodeContext, episode: PlannedEpisode) -> ModelClient:
    """Return the client that plays an episode."""
    if isinstance(context.client, VariedModel):
        return context.client.open_for(episode.instance.instance_id)
    return context.client


def _habits_json(player: ModelClient) -> str | None:
    if isinstance(player, ScriptedModel) and player.habits is not None:
        return canonical_json(player.habits)
    return None


def _fields_of_score(family: Family, score: Score) -> dict[str, Any]:
    """Return the fields of an episode's row that tell its result."""
    return {
        "family": family.name,
        "score": score.score,
        "is_solved": score.is_solved,
        "metrics_json": canonical_json(score.metrics),
        **{name: score.metrics[name] for name in score.columns},
    }


def _fields_of_condition(context: EpisodeContext) -> dict[str, Any]:
    """Return the fields of an episode's row that its condition decides."""
    spec = context.spec
    return {
        **context.condition.model_dump(exclude={"own_contracts"}),
        "shown_contract": context.condition.shown_contract,
        "prompt_set": spec.prompt_set,
        "tool_call_cap": spec.tool_call_cap,
        "max_turns": spec.max_turns,
        "max_tokens": spec.max_tokens,
        "concurrency": context.concurrency,
        "contract_json": declare_contract(context),
        "sandbox_level": context.runtime.sandbox_level,
        "backend": context.runtime.backend,
        "plan_digest": context.plan_digest,
        "stage_digest": context.stage_digest,
        "scale": context.scale,
        "token_source": context.client.token_source,
    }


@cache
def _code_digest(family_module: str) -> str:
    return source_digest((*_PLAYED_BY, family_module))
