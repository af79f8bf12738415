import pytest

from carryover.tasks.serving.cpu.cache import CachePool, CacheShape, KeyValueCache, shared_prefix_length

SHAPE = CacheShape(layer_count=1, head_count=1, head_dim=2)
ROOMY = 2**20


def fill(cache, token_ids):
    """Hold tokens with keys and values that show which token they belong to."""
    cache.reserve(len(token_ids))
    for position, token_id in enumerate(token_ids):
        cache.tensor[:, :, position] = token_id
    cache.token_ids = list(token_ids)


def converse(pool, prompt, episode_id=None, model="m"):
    """Run a request to its end; return how many prompt tokens were there before."""
    lease = pool.lease(model, SHAPE, prompt, episode_id)
    held = len(lease.token_ids)
    fill(lease, prompt)
    pool.give_back(lease)
    return held


@pytest.mark.parametrize(
    ("left", "right", "length"),
    [([], [1], 0), ([1], [2], 0), ([1, 2, 3], [1, 2, 3], 3), ([1, 2], [1, 2, 3], 2), ([1, 2, 9, 4], [1, 2, 3, 4], 2)],
)
def test_shared_prefix(left, right, length):
    assert shared_prefix_length(left, right) == length


def test_growing_keeps_what_is_held():
    cache = KeyValueCache(SHAPE)
    fill(cache, [5, 6, 7])
    cache.reserve(1000)
    assert cache.tensor[0, 0, :3, 0].tolist() == [5, 6, 7]
    assert cache.tensor.shape[2] >= 1000


def test_room_grows_by_some_tokens_or_a_quarter():
    cache = KeyValueCache(CacheShape(layer_count=3, head_count=2, head_dim=5))
    for wanted, capacity in ((0, 0), (3, 3 + 256), (259, 259), (260, 260 + 256), (2000, 2000 + 500)):
        cache.reserve(wanted)
        assert tuple(cache.tensor.shape) == (3, 4, capacity, 5)
    cache.token_ids = [1, 2, 3]
    cache.truncate(2)
    assert cache.token_ids == [1, 2]


def test_an_episodes_next_turn_finds_all_of_the_last():
    pool = CachePool(ROOMY)
    assert converse(pool, [1, 2, 3], "episode") == 0
    assert converse(pool, [1, 2, 3, 4, 5], "episode") == 3


def test_one_token_is_always_left_to_compute():
    pool = CachePool(ROOMY)
    converse(pool, [1, 2, 3], "episode")
    assert converse(pool, [1, 2, 3], "episode") == 2


def test_a_changed_history_keeps_what_comes_before_the_change():
    pool = CachePool(ROOMY)
    converse(pool, [1, 2, 3, 4], "episode")
    assert converse(pool, [1, 2, 9, 4, 5], "episode") == 2


def test_an_extended_prompt_is_found_without_an_episode_id():
    pool = CachePool(ROOMY)
    prompt = list(range(20))
    converse(pool, prompt)
    converse(pool, [*prompt[:17], 99])
    assert converse(pool, [*prompt, 20]) == 20


def test_another_conversation_starts_with_a_long_shared_prefix():
    pool = CachePool(ROOMY)
    system = list(range(100, 130))
    converse(pool, [*system, 1], "first")
    lease = pool.lease("m", SHAPE, [*system, 2], "second")
    assert lease.token_ids == system
    assert lease.tensor[0, 0, :30, 0].tolist() == system
    lease.tensor[0, 0, 0] = -1
    assert pool.lease("m", SHAPE, [*system, 1, 3], "first").tensor[0, 0, 0, 0] == 100


def test_models_share_nothing():
    pool = CachePool(ROOMY)
    converse(pool, list(range(50)), "episode", model="m")
    assert converse(pool, list(range(60)), "episode", model="n") == 0


def test_concurrent_requests_of_one_episode_share_no_cache():
    pool = CachePool(ROOMY)
    first = pool.lease("m", SHAPE, [1, 2, 3], "episode")
    second = pool.lease("m", SHAPE, [1, 2, 3], "episode")
    assert first is not second


def test_idle_conversations_go_oldest_use_first():
    pool = CachePool(ROOMY)
    converse(pool, [1, 1, 1], "old")
    one_conversation = pool.byte_count
    converse(pool, [2, 2, 2], "new")
    converse(pool, [1, 1, 1, 1], "old")
    pool.byte_limit = one_conversation
    pool.evict()
    assert converse(pool, [1, 1, 1, 1, 1], "old") == 4
    assert converse(pool, [2, 2, 2, 2], "new") == 0


def test_idle_conversations_leave_room_for_requests():
    pool = CachePool(ROOMY)
    converse(pool, [1, 1, 1], "idle")
    pool.byte_limit = pool.byte_count
    assert pool.has_room()
    fill(pool.lease("m", SHAPE, [2, 2, 2], "in use"), [2, 2, 2])
    assert not pool.has_room()


def test_a_conversation_in_use_is_not_dropped():
    pool = CachePool(byte_limit=1)
    lease = pool.lease("m", SHAPE, [1, 2], "episode")
    fill(lease, [1, 2])
    pool.evict()
    assert pool.byte_count > 1
    assert not pool.has_room()
    pool.give_back(lease)
    assert pool.byte_count == 0
