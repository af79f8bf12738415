"""Keys and values of conversations, kept between turns, in bounded memory."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from torch import Tensor

GROWTH_TOKENS = 256
"""A cache grows by this many tokens, or by a quarter of what it holds."""
MIN_SHARED_TOKENS = 16
"""A prefix of another conversation is worth copying from here on."""


class CacheShape(NamedTuple):
    """Cached keys and values of one token, and where they lie."""

    layer_count: int
    head_count: int
    """Key-value heads."""
    head_dim: int
    device: str = "cpu"


class KeyValueCache:
    """One conversation's keys and values: all layers in one growing tensor."""

    def __init__(self, shape: CacheShape) -> None:
        import torch

        self.shape = shape
        self.idle_since = 0
        """Place in the order in which caches became idle; 0 while a running request has it."""
        self.token_ids: list[int] = []
        """Tokens whose keys and values are held."""
        self.tensor: Tensor = torch.empty(
            shape.layer_count, 2 * shape.head_count, 0, shape.head_dim, device=shape.device
        )
        """Keys, then values: (layers, 2 x heads, capacity, head dimension), float32."""

    def reserve(self, token_count: int) -> None:
        """Make room for `token_count` tokens in all, keeping what is held."""
        layers, heads, capacity, dimension = self.tensor.shape
        if token_count > capacity:
            held = len(self.token_ids)
            capacity = token_count + max(GROWTH_TOKENS, token_count // 4)
            grown = self.tensor.new_empty(layers, heads, capacity, dimension)
            grown[:, :, :held] = self.tensor[:, :, :held]
            self.tensor = grown

    def truncate(self, token_count: int) -> None:
        """Forget everything after the first `token_count` tokens."""
        del self.token_ids[token_count:]


def shared_prefix_length(left: Sequence[int], right: Sequence[int]) -> int:
    """Return how many leading tokens two sequences share.

    Bisection over slices is fast in CPython.
    """
    low = 0
    high = min(len(left), len(right)) + 1
    while high - low > 1:
        middle = (low + high) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle
    return low


class CachePool:
    """Caches of every model's conversations; least recently used ones go.

    A conversation is known by its episode id. A new one, and every prompt without an id, starts with a copy of the
    longest prefix that any conversation of the model holds.
    """

    def __init__(self, byte_limit: int) -> None:
        self.byte_limit = byte_limit
        self._caches: dict[tuple[str, Hashable], KeyValueCache] = {}
        """By model and conversation."""
        self._numbers = itertools.count(1)

    @property
    def byte_count(self) -> int:
        """Bytes held, in use or idle."""
        return sum(cache.tensor.nbytes for cache in self._caches.values())

    def has_room(self) -> bool:
        """Tell whether the requests that run leave any memory to another one."""
        return sum(cache.tensor.nbytes for cache in self._caches.values() if not cache.idle_since) < self.byte_limit

    def lease(self, model_name: str, shape: CacheShape, prompt_ids: list[int], episode_id: str | None) -> KeyValueCache:
        """Lend the cache with the prompt's longest reusable prefix.

        At most all of the prompt but one token is reused.
        """
        key = (model_name, next(self._numbers) if episode_id is None else episode_id)
        # The episode is being answered already: a second request copies the prefix into a cache of its own.
        if key in self._caches and not self._caches[key].idle_since:
            key = (model_name, next(self._numbers))
        # One token at least must be computed: its logits choose the first token of the reply.
        reusable = prompt_ids[:-1]
        if key in self._caches:
            cache = self._caches[key]
            cache.idle_since = 0
            cache.truncate(shared_prefix_length(cache.token_ids, reusable))
        else:
            cache = KeyValueCache(shape)
            others = (each for (name, _), each in self._caches.items() if name == model_name)
            shared = ((shared_prefix_length(each.token_ids, reusable), each) for each in others)
            count, source = max(shared, key=itemgetter(0), default=(0, cache))
            if count >= MIN_SHARED_TOKENS:
                cache.reserve(count)
                # (layers, 2 x heads, count, head dimension): under causal attention a prefix stands for itself.
                cache.tensor[:, :, :count] = source.tensor[:, :, :count]
                cache.token_ids = source.token_ids[:count]
        self._caches[key] = cache
        self.evict()
        return cache

    def give_back(self, cache: KeyValueCache) -> None:
        """End a loan; the conversation stays while memory lasts."""
        cache.idle_since = next(self._numbers)
        self.evict()

    def evict(self) -> None:
        """Drop idle conversations, oldest use first, to fit the limit."""
        excess = self.byte_count - self.byte_limit
        idle_since = {key: cache.idle_since for key, cache in self._caches.items() if cache.idle_since}
        for key in sorted(idle_since, key=idle_since.__getitem__):
            if excess <= 0:
                return
            excess -= self._caches.pop(key).tensor.nbytes
