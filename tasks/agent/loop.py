"""The reflection-action-observation loop: an episode from its instance to its rows (arXiv 2603.01209, appendix B)."""

import time
from datetime import UTC, datetime

from carryover.tasks.agent.course import EpisodeContext, EpisodeCourse, PlannedEpisode
from carryover.tasks.agent.declaration import declare_contract
from carryover.tasks.agent.recorder import RecordedEpisode


class StoppedEpisodeError(Exception):
    """An episode has ended with what must stop the run, its cause; it is recorded all the same."""

    def __init__(self, recorded: RecordedEpisode) -> None:
        super().__init__(recorded.episode.error_message)
        self.recorded = recorded
        """The episode, to be landed before the run stops."""


async def run_episode(context: EpisodeContext, episode: PlannedEpisode) -> RecordedEpisode:
    """Play one episode to its end and return everything that happened as rows.

    Errors of agent code, of tools and of the model are observations or endings, never exceptions here. Bindings are
    verified before every step; a `ContractViolationError` must stop the run, and the episode is not recorded.
    A reply that cannot be kept stops it, too, as a `StoppedEpisodeError` with the episode. Of the instance, only
    capacity, budget and classes reach the model.
    """
    condition, spec, runtime = context.condition, context.spec, context.runtime
    started_at, start = datetime.now(UTC), time.perf_counter()
    course = EpisodeCourse(context, episode)
    ending = await course.play()
    outcome = course.environment.outcome()
    recorded = course.recorder.finish(
        {
            **condition.model_dump(),
            "shown_contract": condition.shown_contract,
            "tool_call_cap": spec.tool_call_cap,
            "max_turns": spec.max_turns,
            "max_tokens": spec.max_tokens,
            "concurrency": context.concurrency,
            "contract_json": declare_contract(condition, spec, runtime),
            "sandbox_level": runtime.sandbox_level,
            "backend": runtime.backend,
            "finish_reason": ending.reason,
            "error_message": ending.error_message,
            "score": outcome.score,
            "is_solved": outcome.is_solved,
            "value_taken": outcome.value_taken,
            "weight_taken": outcome.weight_taken,
            "taken_count": len(outcome.taken_item_ids),
            "inspected_count": outcome.inspected_count,
            "is_contract_verified": 0 < course.recorder.counts["step_count"] == course.stepper.verified_count,
            "plan_digest": context.plan_digest,
            "stage_digest": context.stage_digest,
            "scale": context.scale,
            "instance_id": episode.instance.instance_id,
            "replicate": episode.replicate,
            "attempt": episode.attempt,
            "token_source": context.client.token_source,
            "training_tokens": None if context.count_tokens is None else context.count_tokens(course.messages),
            "wall_seconds": time.perf_counter() - start,
            "started_at": started_at,
        }
    )
    if ending.stop is not None:
        raise StoppedEpisodeError(recorded) from ending.stop
    return recorded
