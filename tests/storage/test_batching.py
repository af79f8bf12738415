import pytest

from storage.batching import BatchedLanding


class Clock:
    def __init__(self):
        self.now = 0.0

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
        clock.now = 20.0
        batch.add(make_episode("b"))
        assert landed_ids(landing) == ["a", "b"]
        clock.now = 39.0
        batch.add(make_episode("c"))
        assert landed_ids(landing) == ["a", "b"]
    assert landed_ids(landing) == ["a", "b", "c"]


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
