"""Identities that are functions of what an episode is: its id and its decoding seeds."""

import hashlib

from carryover.tasks.agent.condition import Condition
from carryover.tasks.running.source_digest import canonical_json


def episode_id(condition: Condition, instance_id: str, plan_digest: str, replicate: int = 0, attempt: int = 0) -> str:
    """Return the digest that names an episode: 24 hexadecimal digits, equal wherever and whenever it is played."""
    content = canonical_json([plan_digest, condition, instance_id, replicate, attempt])
    return hashlib.sha256(content.encode()).hexdigest()[:24]


def decoding_seed(instance_id: str, turn: int, replicate: int) -> int:
    """Return the seed of one completion, in [0, 2**31): equal across cells, so that chance is no difference."""
    digest = hashlib.sha256(f"{instance_id}/{turn}/{replicate}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1
