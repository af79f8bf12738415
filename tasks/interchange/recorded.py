"""Recorded episodes, assembled from the rows of their tables."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import TypeAdapter

from carryover.tasks.agent.protocol import Message
from carryover.tasks.services.errors import UserError
from carryover.tasks.traces.frames import Frame, lazy
from carryover.tasks.traces.rows import EpisodeRow, InstanceRow, StepRow, TurnRow

CONDITION_COLUMNS = (
    "purpose", "variant", "base", "model_name", "bucket", "split", "visibility", "header", "training_seed", "replicate",
    "is_out_of_distribution", "tool_call_cap", "max_turns", "value_taken", "weight_taken", "taken_count",
    "inspected_count", "is_solved",
)  # fmt: skip
"""Columns of an episode that an export declares."""
_MESSAGES = TypeAdapter(list[Message])
_NOT_IN_NAMES = re.compile(r"[^\w.+-]+")


class RecordedTrace(NamedTuple):
    """One episode with its turns and steps, in order."""

    episode: EpisodeRow
    turns: tuple[TurnRow, ...]
    """Turn 0 first, which holds the opening messages."""
    steps: tuple[StepRow, ...]
    instance: InstanceRow | None
    """The instance, where its row is given."""

    @property
    def opening(self) -> list[Message]:
        """Messages before the first reply."""
        first = None
        if self.turns and self.turns[0].turn == 0:
            first = self.turns[0]
        if first and first.observation:
            return _MESSAGES.validate_json(first.observation)
        return []

    @property
    def condition(self) -> dict[str, Any]:
        """Columns of the episode's cell, for an import."""
        return self.episode.model_dump(mode="json", include=set(CONDITION_COLUMNS))

    def steps_by_turn(self) -> dict[int, list[StepRow]]:
        """Return each turn's executed blocks; an imported turn has several."""
        steps: dict[int, list[StepRow]] = {}
        for step in self.steps:
            steps.setdefault(step.turn, []).append(step)
        return steps

    @property
    def name(self) -> str:
        """Name for files: the authors' task id where it is known."""
        task = self.instance.task_id if self.instance else self.episode.instance_id
        return _NOT_IN_NAMES.sub("_", task)

    @property
    def folder(self) -> str:
        """Folder of the episodes that differ in their instance alone: `PLAN/MODEL/CONDITION`.

        The condition is variant, purpose, base, train contract, runtime contract and bucket, e.g.
        `main-evaluation-hub-persistent-stateless-easy`, followed by deviations from the study.
        """
        episode = self.episode
        train = episode.train_contract or "untrained"
        parts = [episode.variant, episode.purpose, episode.base, train, episode.runtime_contract, episode.bucket]
        parts += [] if episode.training_seed is None else [f"seed{episode.training_seed}"]
        parts += [] if episode.visibility == "declared" else [episode.visibility]
        parts += [] if episode.header == "names" else ["headerless"]
        parts += [f"replicate{episode.replicate}"] if episode.replicate else []
        words = (episode.plan_digest, episode.model_name, "-".join(parts))
        return "/".join(_NOT_IN_NAMES.sub("_", word) for word in words)


def recorded_traces(
    episodes: Frame, turns: Frame, steps: Frame, instances: Frame | None = None
) -> Iterator[RecordedTrace]:
    """Yield episodes with their rows, ordered by id.

    `instances` give task ids and reference values.
    """
    turns_of = lazy(turns).sort("turn").collect().rows_by_key("episode_id", named=True, include_key=True)
    steps_of = lazy(steps).sort("step").collect().rows_by_key("episode_id", named=True, include_key=True)
    known = [] if instances is None else lazy(instances).unique("instance_id").collect().iter_rows(named=True)
    instance_of = {values["instance_id"]: InstanceRow.model_validate(values) for values in known}
    for values in lazy(episodes).sort("episode_id").collect().iter_rows(named=True):
        episode = EpisodeRow.model_validate(values)
        yield RecordedTrace(
            episode=episode,
            turns=tuple(map(TurnRow.model_validate, turns_of.get(episode.episode_id, ()))),
            steps=tuple(map(StepRow.model_validate, steps_of.get(episode.episode_id, ()))),
            instance=instance_of.get(episode.instance_id),
        )


def with_paths(
    traces: Iterable[RecordedTrace], folder: Path, prefix: str, ending: str
) -> Iterator[tuple[RecordedTrace, Path]]:
    """Yield every episode with its file's path, in an existing folder.

    Raise `UserError` where two share one.
    """
    episode_of: dict[Path, str] = {}
    for trace in traces:
        path = folder / trace.folder / f"{prefix}{trace.name}{ending}"
        if path in episode_of:
            raise UserError(
                f"episodes {episode_of[path]} and {trace.episode.episode_id} would both be {path.relative_to(folder)}; "
                "export one attempt of each, those that `marts.episode_metrics` counts"
            )
        episode_of[path] = trace.episode.episode_id
        path.parent.mkdir(parents=True, exist_ok=True)
        yield trace, path
