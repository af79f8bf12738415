"""Identity of an episode: what seeds its random draws."""

import hashlib
from typing import NamedTuple


class Identity(NamedTuple):
    """Seeds of an episode's random draws."""

    instance_id: str
    salt: str

    def seed(self, step: int) -> str:
        """Return a step's seed: equal under contracts, hiding the instance's."""
        return hashlib.sha256(f"{self.instance_id}:{step}:{self.salt}".encode()).hexdigest()
