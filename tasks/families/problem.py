"""An instance of a family of one's own, identified by content."""

import hashlib
import json
from typing import Any

from carryover.tasks.services.frozen_model import FrozenModel
from carryover.tasks.services.source_digest import canonical_json


class Problem(FrozenModel):
    """One problem; only its family knows what the content means."""

    family: str
    """Name of the family."""
    bucket: str
    seed: int
    """Seed that the content is a function of; hidden from the agent."""
    content_json: str
    """The content as canonical JSON; hidden from the agent."""

    @property
    def instance_id(self) -> str:
        """Content hash, whatever the seed of the problem."""
        text = canonical_json([self.family, self.content_json])
        return hashlib.sha256(text.encode()).hexdigest()[:24]

    @property
    def content(self) -> Any:
        """The content as plain values, new at every call."""
        return json.loads(self.content_json)
