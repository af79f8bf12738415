import itertools
import json
import re
from datetime import UTC, datetime, timedelta, timezone

import pytest

from carryover.storage.zone.bundles import (
    BundledEpisode,
    BundleFile,
    Manifest,
    checksum,
    data_path,
    new_bundle_id,
    share_episodes,
)
from carryover.tasks.traces.vocabulary import FinishReason


def _manifest(bundle_id: str, *episode_ids: str) -> Manifest:
    episodes = tuple(
        BundledEpisode(episode_id=episode_id, plan_digest="plan", finish_reason=FinishReason.FINISH_TOOL)
        for episode_id in episode_ids
    )
    return Manifest(bundle_id=bundle_id, run_id="run", files=(), episodes=episodes)


def test_earliest_bundle_keeps_an_episode_in_any_order():
    early, late = _manifest("1", "a", "b"), _manifest("2", "b", "c")
    assert share_episodes([late, early]) == [(early, ()), (late, ("b",))]


def test_every_bundle_loses_an_episode_taken_before():
    early, late = _manifest("1", "a", "b"), _manifest("2", "b", "c")
    assert share_episodes([early, late], taken={"b", "x"}) == [(early, ("b",)), (late, ("b",))]


SUBSETS = ((), ("a",), ("b",), ("a", "b"))


@pytest.mark.parametrize("bundles", list(itertools.product(SUBSETS, repeat=3)))
def test_two_merges_take_what_one_would(bundles):
    manifests = [_manifest(str(number), *episode_ids) for number, episode_ids in enumerate(bundles)]
    shares = share_episodes(manifests)
    for cut in range(len(manifests) + 1):
        taken = set().union(*bundles[:cut])
        assert share_episodes(manifests[:cut]) + share_episodes(manifests[cut:], taken) == shares
    kept = [
        episode.episode_id
        for share in shares
        for episode in share.manifest.episodes
        if episode.episode_id not in share.lost_episode_ids
    ]
    assert sorted(kept) == sorted(set().union(*bundles))


def test_a_manifest_with_one_changed_letter_is_refused():
    content = _manifest("1", "a").to_json()
    assert Manifest.from_json(content).episodes == _manifest("1", "a").episodes
    with pytest.raises(ValueError, match=r"^damaged: checksum [0-9a-f]+ instead of [0-9a-f]+$"):
        Manifest.from_json(content.replace(b'"run"', b'"ran"'))


def test_a_manifest_has_a_path_rows_and_the_files_of_its_tables():
    files = tuple(
        BundleFile(table=table, path=f"{table}/x", row_count=rows, byte_count=9, checksum="0", columns=("a",))
        for table, rows in (("episodes", 2), ("steps", 5))
    )
    manifest = Manifest(bundle_id="1", run_id="run", files=files, episodes=())
    assert manifest.path == "bundles/run_id=run/1.json"
    assert manifest.row_count == 7
    assert [manifest.file(table) for table in ("episodes", "steps", "turns")] == [*files, None]
    assert data_path("steps", "run", "1") == "steps/run_id=run/1.parquet"
    content = json.loads(manifest.to_json())
    told = content.pop("checksum")
    assert content == {"format_version": 1, "bundle_id": "1", "run_id": "run", "episodes": [],
                       "files": [file.model_dump(mode="json") for file in files]}  # fmt: skip
    assert checksum(manifest.model_dump_json(exclude={"checksum"}).encode()) == told
    assert (checksum(b""), checksum(b"a")) == ("00000000", "e8b7be43")


def test_bundle_ids_sort_by_time_and_do_not_repeat():
    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert new_bundle_id(now) < new_bundle_id(now + timedelta(microseconds=1))
    assert new_bundle_id(now) != new_bundle_id(now)
    elsewhere = datetime(2026, 3, 1, 12, 30, 5, 7, tzinfo=timezone(timedelta(hours=2)))
    assert re.fullmatch(r"20260301T103005000007-[0-9a-f]{12}", new_bundle_id(elsewhere))
