"""Keys and values of conversations, kept from turn to turn and bounded in memory."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from torch import Tensor

GROWTH_TOKENS = 256
"""A cache grows by this many tokens, or by a quarter of what it holds."""
MIN_SHARED_TOKENS = 16
"""A prefix of another conversation is worth copying from here on."""


class CacheShape(NamedTuple):
    """What a model needs to remember of one token."""

    layer_count: int
    head_count: int
    """Key-value heads."""
    head_dim: int


class KeyValueCache:
    """Keys and values of one conversation: every layer in one tensor that grows as the conversation does."""

    def __init__(self, shape: CacheShape) -> None:
        import torch

        self.shape = shape
        self.token_ids: list[int] = []
        """Tokens whose keys and values are held."""
        self.tensor: Tensor = torch.empty(shape.layer_count, 2 * shape.head_count, 0, shape.head_dim)
        """Keys, then values: (layers, 2 x heads, capacity, head dimension), float32."""

    @property
    def byte_count(self) -> int:
        """Bytes of the tensor, unused capacity included."""
        return self.tensor.numel() * self.tensor.element_size()

    def reserve(self, token_count: int) -> None:
        """Make room for `token_count` tokens in all, keeping what is held."""
        import torch

        capacity = self.tensor.shape[2]
        if token_count <= capacity:
            return
        shape = self.shape
        capacity = token_count + max(GROWTH_TOKENS, token_count // 4)
        grown = torch.empty(shape.layer_count, 2 * shape.head_count, capacity, shape.head_dim)
        held = len(self.token_ids)
        grown[:, :, :held] = self.tensor[:, :, :held]
        self.tensor = grown

    def truncate(self, token_count: int) -> None:
        """Forget everything after the first `token_count` tokens."""
        del self.token_ids[token_count:]

    def copy_prefix(self, source: KeyValueCache, token_count: int) -> None:
        """Hold the first `token_count` tokens of another conversation; nothing has been held before."""
        self.reserve(token_count)
        self.tensor[:, :, :token_count] = source.tensor[:, :, :token_count]
        self.token_ids = source.token_ids[:token_count]


def shared_prefix_length(left: Sequence[int], right: Sequence[int]) -> int:
    """Return how many leading tokens two sequences share, by bisection over slices (fast in CPython)."""
    low, high = 0, min(len(left), len(right))
    if left[:high] == right[:high]:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle
    return low


@dataclass
class _Entry:
    model_name: str
    cache: KeyValueCache
    is_in_use: bool


class Lease(NamedTuple):
    """A cache lent to one running request."""

    key: Hashable
    cache: KeyValueCache
    """Holds the longest reusable prefix of the prompt, at most all of it but one token."""


class CachePool:
    """Caches of every conversation of every model; idle ones go, oldest use first, when memory is short.

    A conversation is known by its episode id. A new one, and every prompt without an id, starts with a copy of the
    longest prefix that any conversation of the model holds.
    """

    def __init__(self, byte_limit: int) -> None:
        self.byte_limit = byte_limit
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()
        self._numbers = itertools.count()

    @property
    def byte_count(self) -> int:
        """Bytes held, in use or idle."""
        return sum(entry.cache.byte_count for entry in self._entries.values())

    def has_room(self) -> bool:
        """Tell whether the requests that run leave any memory to another one."""
        in_use = sum(entry.cache.byte_count for entry in self._entries.values() if entry.is_in_use)
        return in_use < self.byte_limit

    def lease(self, model_name: str, shape: CacheShape, prompt_ids: list[int], episode_id: str | None) -> Lease:
        """Lend the cache with which the prompt needs the least work."""
        key = (model_name, next(self._numbers) if episode_id is None else episode_id)
        if key in self._entries and self._entries[key].is_in_use:
            key = (model_name, next(self._numbers))
        # One token at least must be computed: its logits choose the first token of the reply.
        reusable = prompt_ids[:-1]
        entry = self._entries.get(key)
        if entry is not None:
            entry.is_in_use = True
            entry.cache.truncate(shared_prefix_length(entry.cache.token_ids, reusable))
        else:
            entry = _Entry(model_name, KeyValueCache(shape), is_in_use=True)
            others = [each.cache for each in self._entries.values() if each.model_name == model_name]
            shared = [shared_prefix_length(each.token_ids, reusable) for each in others]
            if max(shared, default=0) >= MIN_SHARED_TOKENS:
                entry.cache.copy_prefix(others[shared.index(max(shared))], max(shared))
        self._entries[key] = entry
        self._entries.move_to_end(key)
        self.evict()
        return Lease(key, entry.cache)

    def give_back(self, lease: Lease) -> None:
        """End a loan; the conversation stays for its next turn as long as memory lasts."""
        self._entries[lease.key].is_in_use = False
        self._entries.move_to_end(lease.key)
        self.evict()

    def evict(self) -> None:
        """Drop idle conversations, oldest use first, until the bytes held fit the limit."""
        excess = self.byte_count - self.byte_limit
        for key in [key for key, entry in self._entries.items() if not entry.is_in_use]:
            if excess <= 0:
                return
            excess -= self._entries.pop(key).cache.byte_count
