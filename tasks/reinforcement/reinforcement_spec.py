"""Settings of a reinforcement, and its presets."""

from typing import Literal, Self

from pydantic import Field, model_validator

from carryover.tasks.runtime.contract import Contract
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.services.frozen_model import FrozenModel
from carryover.tasks.sft.machine import MachineNeed, training_need
from carryover.tasks.sft.training_spec import TrainingSpec

CACHE_BYTES = 2**30
"""Keys and values of the episodes of an update."""


class ReinforcementSpec(FrozenModel):
    """GRPO from a trained model, in its own runtime or the other."""

    runtime: Literal["own", "other"] = "other"
    """Whether each model plays under the contract of its training, or under the other one of the two."""
    most_updates: int = Field(gt=0)
    least_updates: int = Field(default=1, gt=0)
    """Updates before the training may end early."""
    missed_share: float = Field(default=0.05, ge=0, le=1)
    """Training ends when at most this share of episodes misses a name, over the last `judged_updates`."""
    judged_updates: int = Field(default=2, gt=0)
    instances_per_update: int = Field(gt=0)
    episodes_per_instance: int = Field(gt=1)
    """GRPO's group: its rewards are compared with each other."""
    sequences_per_pass: int = Field(gt=0)
    """Episodes per forward pass of the training."""
    first_seed: int
    """Seed of the first instance; instances are used once."""
    turn_price: float = Field(ge=0)
    """Taken from the final score for each reply: where every episode ends with the same score, nothing else differs."""
    temperature: float = Field(gt=0)
    """At 1 a small model of scripts plays every episode of a group alike, so that GRPO has nothing to compare."""
    max_turns: int = Field(gt=0)
    max_completion_tokens: int = Field(gt=0)
    """Of one reply."""
    max_episode_tokens: int = Field(gt=0)
    """Tokens of a conversation at which an episode ends as it stands."""
    learning_rate: float = Field(gt=0)
    beta2: float = Field(default=0.95, gt=0, lt=1)
    save_updates: int = Field(default=2, gt=0)
    """Updates between checkpoints."""

    @model_validator(mode="after")
    def _passes_divide_an_update(self) -> Self:
        if self.episodes_per_update % self.sequences_per_pass:
            raise ValueError(
                f"{self.episodes_per_update} episodes per update are no multiple of {self.sequences_per_pass} per pass"
            )
        return self

    @property
    def episodes_per_update(self) -> int:
        """Episodes that one update learns from."""
        return self.instances_per_update * self.episodes_per_instance


class Reinforcement(FrozenModel):
    """A reinforcement of one model: its settings, and what it plays."""

    spec: ReinforcementSpec
    family: str
    bucket: str
    runtime_contract: str
    own_contracts: tuple[Contract, ...] = ()
    """Its definition, where its name does not describe it."""
    runtime: RuntimeSpec = RuntimeSpec()


def reinforcement_need(training: TrainingSpec) -> MachineNeed:
    """Return a reinforcement's need of a machine.

    It is its training's on a CPU, and the cache of its episodes.
    """
    need = training_need(training.model_copy(update={"device": "cpu"}))
    if need.memory_bytes is None:
        return need
    return need._replace(memory_bytes=need.memory_bytes + CACHE_BYTES)
