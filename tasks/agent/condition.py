"""Identity of an episode: its condition, its id and its decoding seeds."""

import hashlib

from pydantic import Field

from carryover.tasks.runtime.contract import Contract, named_contract
from carryover.tasks.services.frozen_model import FrozenModel
from carryover.tasks.services.source_digest import canonical_json
from carryover.tasks.traces.vocabulary import Header, Purpose, Split, Visibility


class Condition(FrozenModel):
    """A cell of the study with further factors, columns of `EpisodeRow`."""

    purpose: Purpose
    variant: str = "main"
    base: str = "teacher"
    model_name: str
    model_digest: str | None = None
    train_contract: str | None = None
    runtime_contract: str
    visibility: Visibility = "declared"
    header: Header = "names"
    bucket: str
    """Difficulty bucket of the instances."""
    split: Split
    is_out_of_distribution: bool = False
    training_seed: int | None = None
    own_contracts: tuple[Contract, ...] = Field(default=(), exclude_if=lambda own: not own)
    """Definitions of those contracts above that a name does not describe; no column of `EpisodeRow`."""

    @property
    def shown_contract(self) -> str:
        """The contract that prompt and header state to the model."""
        if self.visibility == "as_trained" and self.train_contract is not None:
            return self.train_contract
        return self.runtime_contract

    def defined(self, name: str) -> Contract:
        """Return a contract's definition; raise `ValueError` for an unknown one."""
        return named_contract(name, self.own_contracts)


def episode_id(condition: Condition, instance_id: str, stage_digest: str, replicate: int = 0, attempt: int = 0) -> str:
    """Return an episode's id: 24 hexadecimal digits, reproducible anywhere."""
    content = canonical_json([stage_digest, condition, instance_id, replicate, attempt])
    return hashlib.sha256(content.encode()).hexdigest()[:24]


def decoding_seed(instance_id: str, turn: int, replicate: int) -> int:
    """Return a completion's seed, in [0, 2**31), equal across cells."""
    digest = hashlib.sha256(f"{instance_id}/{turn}/{replicate}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1
