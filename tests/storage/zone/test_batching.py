import asyncio
from typing import Any

import pytest

from carryover.storage.errors import UnreachableZoneError
from carryover.storage.zone.batching import BatchedLanding


class Clock:
    """A clock of a machine that has run for a while."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


def landed_ids(landing):
    return [row["episode_id"] for row in landing.read("episodes", ["episode_id"]).to_pylist()]


def test_a_full_batch_lands_as_one_bundle(landing, make_episode):
    with BatchedLanding(landing, "run", episodes_per_batch=2, clock=Clock()) as batch:
        batch.add(make_episode("a"))
        assert landed_ids(landing) == []
        batch.add(make_episode("b"))
        assert landed_ids(landing) == ["a", "b"]
        assert len(landing.manifests().bundles) == 1


def test_an_old_batch_lands_with_the_next_episode(landing, make_episode):
    clock = Clock()
    with BatchedLanding(landing, "run", seconds_per_batch=20.0, clock=clock) as batch:
        batch.add(make_episode("a"))
        clock.now += 20.0
        batch.add(make_episode("b"))
        assert landed_ids(landing) == ["a", "b"]
        clock.now += 19.0
        batch.add(make_episode("c"))
        assert landed_ids(landing) == ["a", "b"]
    assert landed_ids(landing) == ["a", "b", "c"]


def test_an_old_batch_lands_before_the_next_episode_ends(landing, make_episode):
    clock, seen = Clock(), []

    async def pause():
        seen.append(landed_ids(landing))
        if len(seen) == 3:
            raise asyncio.CancelledError
        clock.now += 19.0

    batch = BatchedLanding(landing, "run", seconds_per_batch=20.0, clock=clock)
    batch.add(make_episode("a"))
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(batch.land_regularly(pause))
    assert seen == [[], [], ["a"]]


def test_what_cannot_be_landed_for_a_while_is_tried_again(landing, make_episode, limit_file_size):
    clock, pauses = Clock(), 0

    async def pause():
        nonlocal pauses
        pauses += 1
        if pauses == 2:
            raise asyncio.CancelledError
        clock.now += 20.0

    with BatchedLanding(landing, "run", clock=clock) as batch:
        batch.add(make_episode("a"))
        with limit_file_size(16), pytest.raises(asyncio.CancelledError):
            asyncio.run(batch.land_regularly(pause))
        assert landed_ids(landing) == []
    assert landed_ids(landing) == ["a"]


class SilentZone:
    """Object storage that does not answer so many times."""

    def __init__(self, zone, count):
        self.zone = zone
        self.count = count

    def write(self, *rows):
        self.count -= 1
        if self.count >= 0:
            raise UnreachableZoneError("no answer")
        self.zone.write(*rows)


def test_episodes_wait_for_object_storage_until_a_batch_is_full(landing, make_episode):
    zone: Any = SilentZone(landing, 2)
    with BatchedLanding(zone, "run", episodes_per_batch=3, seconds_per_batch=0.0) as batch:
        batch.add(make_episode("a"))
        batch.add(make_episode("b"))
        assert landed_ids(landing) == []
        batch.add(make_episode("c"))
        assert landed_ids(landing) == ["a", "b", "c"]
        zone.count = 3
        batch.add(make_episode("d"))
        batch.add(make_episode("e"))
        with pytest.raises(UnreachableZoneError):
            batch.add(make_episode("f"))
    assert landed_ids(landing) == ["a", "b", "c", "d", "e", "f"]


def test_what_was_added_lands_also_when_the_work_fails(landing, make_episode):
    def fail():
        with BatchedLanding(landing, "run", clock=Clock()) as batch:
            batch.add(make_episode("a"))
            raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        fail()
    assert landed_ids(landing) == ["a"]


def test_an_empty_batch_lands_nothing(landing):
    with BatchedLanding(landing, "run", clock=Clock()):
        pass
    assert not landing.manifests().bundles
