"""The reflection-action-observation loop: an episode from its instance to its rows (arXiv 2603.01209, appendix B)."""

import time
from datetime import UTC, datetime
from functools import cache, partial

from carryover.tasks.agent.condition import Condition
from carryover.tasks.agent.course import EpisodeContext, EpisodeCourse, PlannedEpisode
from carryover.tasks.agent.episode_spec import EpisodeSpec
from carryover.tasks.agent.prompt_format import prompt_digest
from carryover.tasks.agent.recorder import RecordedEpisode
from carryover.tasks.agent.stepper import contract_in_force
from carryover.tasks.runtime.backend import Runtime
from carryover.tasks.services.source_digest import HARNESS, canonical_json, source_digest

_code_digest = cache(partial(source_digest, HARNESS))


async def run_episode(context: EpisodeContext, episode: PlannedEpisode) -> RecordedEpisode:
    """Play one episode to its end and return everything that happened as rows.

    Errors of agent code, of tools and of the model are observations or endings, never exceptions here. Bindings are
    verified before every step; a `ContractViolationError` must stop the run, and the episode is not recorded. Of the
    instance, only capacity, budget and classes reach the model.
    """
    condition, spec, runtime = context.condition, context.spec, context.runtime
    started_at, start = datetime.now(UTC), time.perf_counter()
    course = EpisodeCourse(context, episode)
    ending = await course.play()
    outcome = course.environment.outcome()._asdict()
    return course.recorder.finish(
        {
            **condition.model_dump(),
            "shown_contract": condition.shown_contract,
            **{name: getattr(spec, name) for name in ("tool_call_cap", "max_turns", "max_tokens")},
            "concurrency": context.concurrency,
            "contract_json": declare_contract(condition, spec, runtime),
            "sandbox_level": runtime.sandbox_level,
            "backend": runtime.backend,
            "finish_reason": ending.reason,
            "error_message": ending.error_message,
            "taken_count": len(outcome.pop("taken_item_ids")),
            **outcome,
            "is_contract_verified": 0 < course.recorder.counts["step_count"] == course.stepper.verified_count,
            **{name: getattr(context, name) for name in ("plan_digest", "stage_digest", "scale")},
            "instance_id": episode.instance.instance_id,
            "replicate": episode.replicate,
            "attempt": episode.attempt,
            "token_source": context.client.token_source,
            "training_tokens": None if context.count_tokens is None else context.count_tokens(course.messages),
            "wall_seconds": time.perf_counter() - start,
            "started_at": started_at,
        },
        ending.stop,
    )


def declare_contract(condition: Condition, spec: EpisodeSpec, runtime: Runtime) -> str:
    """Return the declaration as canonical JSON; it names no run, so equal episodes declare the same."""
    content = {
        **spec.model_dump(exclude={"stateless_scope"}),
        "contract": contract_in_force(condition, spec),
        "shown_contract": condition.shown_contract,
        "visibility": condition.visibility,
        "header": condition.header,
        "prompt_digest": prompt_digest(spec.prompt_set, condition.shown_contract),
        "code_digest": _code_digest()[:16],
        "backend": runtime.backend,
        "sandbox_level": runtime.sandbox_level,
    }
    return canonical_json(content)
