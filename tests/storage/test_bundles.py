from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from storage.bundles import BundledEpisode, Manifest, new_bundle_id, share_episodes
from tasks.traces.rows import FinishReason


def _manifest(bundle_id: str, *episode_ids: str) -> Manifest:
    episodes = tuple(
        BundledEpisode(episode_id=episode_id, plan_digest="plan", finish_reason=FinishReason.FINISH_TOOL)
        for episode_id in episode_ids
    )
    return Manifest(bundle_id=bundle_id, run_id="run", files=(), episodes=episodes)


def test_the_earliest_bundle_keeps_an_episode_in_whatever_order_they_come():
    early, late = _manifest("1", "a", "b"), _manifest("2", "b", "c")
    assert share_episodes([late, early]) == [(early, ()), (late, ("b",))]


def test_an_episode_that_is_there_before_is_lost_by_every_bundle():
    early, late = _manifest("1", "a", "b"), _manifest("2", "b", "c")
    assert share_episodes([early, late], taken={"b", "x"}) == [(early, ("b",)), (late, ("b",))]


@given(st.lists(st.sets(st.sampled_from("abcdef")), max_size=6), st.integers(min_value=0, max_value=6))
def test_two_merges_take_what_one_would(bundles, cut):
    manifests = [_manifest(str(number), *sorted(ids)) for number, ids in enumerate(bundles)]
    first, second = manifests[:cut], manifests[cut:]
    taken = {episode.episode_id for manifest in first for episode in manifest.episodes}
    shares = share_episodes(manifests)
    assert share_episodes(first) + share_episodes(second, taken) == shares
    kept = [
        episode.episode_id
        for share in shares
        for episode in share.manifest.episodes
        if episode.episode_id not in share.lost_episode_ids
    ]
    assert sorted(kept) == sorted(set().union(*bundles))


def test_bundle_ids_sort_by_time_and_do_not_repeat():
    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert new_bundle_id(now) < new_bundle_id(now + timedelta(microseconds=1))
    assert new_bundle_id(now) != new_bundle_id(now)
