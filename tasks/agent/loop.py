"""The reflection-action-observation loop: an episode from its instance to its rows (arXiv 2603.01209, appendix B)."""

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from carryover.tasks.agent.condition import Condition
from carryover.tasks.agent.course import Ending, EpisodeCourse, EpisodeThreads
from carryover.tasks.agent.declaration import declare_contract
from carryover.tasks.agent.episode_id import episode_id
from carryover.tasks.agent.protocol import Message, ModelClient
from carryover.tasks.agent.recorder import EpisodeRecorder, RecordedEpisode
from carryover.tasks.agent.spec import EpisodeSpec
from carryover.tasks.agent.stepper import ContractViolationError
from carryover.tasks.knapsack.instance import Instance
from carryover.tasks.runtime.protocol import CONTRACTS, Runtime

__all__ = ["ContractViolationError", "RecordedEpisode", "StoppedEpisodeError", "run_episode"]

CountTokens = Callable[[Sequence[Message]], int]


class StoppedEpisodeError(Exception):
    """An episode has ended with what must stop the run, its cause; it is recorded all the same."""

    def __init__(self, recorded: RecordedEpisode) -> None:
        super().__init__(recorded.episode.error_message)
        self.recorded = recorded
        """The episode, to be landed before the run stops."""


async def run_episode(
    instance: Instance,
    condition: Condition,
    client: ModelClient,
    runtime: Runtime,
    spec: EpisodeSpec,
    *,
    run_id: str,
    plan_digest: str,
    scale: str,
    replicate: int = 0,
    attempt: int = 0,
    count_tokens: CountTokens | None = None,
    threads: EpisodeThreads = EpisodeThreads(),  # noqa: B008 - immutable
) -> RecordedEpisode:
    """Play one episode to its end and return everything that happened as rows.

    Errors of agent code, of tools and of the model are observations or endings, never exceptions here. Bindings are
    verified before every step; a `ContractViolationError` must stop the run, and the episode is not recorded.
    A reply that cannot be kept stops it, too, as a `StoppedEpisodeError` with the episode.

    Args:
        instance: The problem; only its capacity, budget and classes reach the model.
        condition: The cell that the episode belongs to.
        client: Who writes the replies.
        runtime: Where the interpreter of the episode is opened.
        spec: Turns, caps, limits, wording.
        run_id: Run that lands the rows.
        plan_digest: Digest of the plan; with condition, instance, replicate and attempt it makes the episode's id.
        scale: Scale of the plan: `smoke`, `laptop` or `paper`.
        replicate: Repetition with other decoding seeds.
        attempt: 0 for the first; an episode that ended with `error` runs again as the next.
        count_tokens: Tokens of a conversation by the training tokenizer, for `training_tokens`.
        threads: Where the interpreter is waited for.
    """
    if condition.runtime_contract not in CONTRACTS:
        raise ValueError(f"unknown contract {condition.runtime_contract!r}; choose from {', '.join(CONTRACTS)}")
    started_at, start = datetime.now(UTC), time.perf_counter()
    instance_id = instance.instance_id
    name = episode_id(condition, instance_id, plan_digest, replicate, attempt)
    recorder = EpisodeRecorder(run_id, name)
    course = EpisodeCourse(
        instance, instance_id, condition, client, spec, recorder=recorder, replicate=replicate, threads=threads
    )
    ending = await course.play(runtime, name=name, salt=f"{plan_digest}/{replicate}")
    recorded = recorder.finish(
        {
            **condition.model_dump(),
            **_rules(condition, spec, runtime),
            **_outcome(course, ending),
            "plan_digest": plan_digest,
            "scale": scale,
            "instance_id": instance_id,
            "replicate": replicate,
            "attempt": attempt,
            "token_source": client.token_source,
            "training_tokens": None if count_tokens is None else count_tokens(course.messages),
            "wall_seconds": time.perf_counter() - start,
            "started_at": started_at,
        }
    )
    if ending.stop is not None:
        raise StoppedEpisodeError(recorded) from ending.stop
    return recorded


def _rules(condition: Condition, spec: EpisodeSpec, runtime: Runtime) -> dict[str, Any]:
    """Return the fields of the episode's row that say what it was played under, beside its condition."""
    return {
        "shown_contract": condition.shown_contract,
        "tool_call_cap": spec.tool_call_cap,
        "max_turns": spec.max_turns,
        "contract_json": declare_contract(condition, spec, runtime),
        "sandbox_level": runtime.sandbox_level,
        "backend": runtime.backend,
    }


def _outcome(course: EpisodeCourse, ending: Ending) -> dict[str, Any]:
    """Return the fields of the episode's row that say how it ended and what it scored."""
    outcome = course.environment.outcome()
    return {
        "finish_reason": ending.reason,
        "error_message": ending.error_message,
        "score": outcome.score,
        "is_solved": outcome.is_solved,
        "value_taken": outcome.value_taken,
        "weight_taken": outcome.weight_taken,
        "taken_count": len(outcome.taken_item_ids),
        "inspected_count": outcome.inspected_count,
        "is_contract_verified": 0 < course.recorder.counts["step_count"] == course.verified_count,
    }
