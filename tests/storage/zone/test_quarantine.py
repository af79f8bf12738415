from datetime import UTC, datetime, timedelta
from pathlib import Path

from carryover.storage.zone.bundles import Manifest
from carryover.storage.zone.files import FoundFile
from carryover.storage.zone.landing import Manifests
from carryover.storage.zone.quarantine import Refusal, find_damage, inspect_landing, quarantine_files, record_refusals

NOW = datetime(2026, 1, 1, tzinfo=UTC)
OLD = NOW - timedelta(hours=2)
BUNDLE = "20260101T000000000000-0123456789ab"
NEVER_COMMITTED = "never committed: its writer ended before the manifest"
FOREIGN = "foreign: not a file that a landing zone writes"


def _reasons(path: str, modified_at: datetime | None = OLD, merged: tuple[str, ...] = ()) -> list[str]:
    files = [FoundFile(path, 4, modified_at)]
    return [
        refusal.reason for refusal in inspect_landing(files, Manifests((), {}, {}), merged, NOW - timedelta(hours=1))
    ]


def test_an_old_file_without_manifest_was_never_committed():
    assert _reasons(f"steps/run_id=r/{BUNDLE}.parquet") == [NEVER_COMMITTED]


def test_file_of_young_or_unknown_age_may_be_in_flight():
    assert _reasons(f"steps/run_id=r/{BUNDLE}.parquet", NOW) == []
    assert _reasons(f"steps/run_id=r/{BUNDLE}.parquet", None) == []
    assert _reasons(f"steps/run_id=r/.{BUNDLE}.parquet.tmp", NOW) == []


def test_a_file_of_a_merged_or_committed_bundle_stays():
    path = f"steps/run_id=r/{BUNDLE}.parquet"
    assert _reasons(path, merged=(BUNDLE,)) == []
    committed = Manifests((Manifest(bundle_id=BUNDLE, run_id="r", files=(), episodes=()),), {}, {})
    assert inspect_landing([FoundFile(path, 4, OLD)], committed, (), NOW) == []


def test_the_files_of_a_newer_manifest_stay():
    newer = Manifests((), {}, {f"bundles/run_id=r/{BUNDLE}.json": "of a newer version"})
    assert inspect_landing([FoundFile(f"thoughts/run_id=r/{BUNDLE}.parquet", 4, OLD)], newer, (), NOW) == []


def test_a_file_in_the_wrong_place_is_foreign_however_young():
    for path in (
        "notes.txt",
        f"steps/{BUNDLE}.parquet",
        f"steps/run_id=r/{BUNDLE}.json",
        f"bundles/run_id=r/{BUNDLE}.parquet",
    ):
        assert _reasons(path, NOW) == [FOREIGN]


def test_what_is_in_quarantine_stays_there():
    assert _reasons("quarantine/notes.txt") == []


def test_a_file_with_one_flipped_bit_is_damaged(landing, make_episode):
    manifest = landing.write(make_episode("e"), "run")
    steps = manifest.file("steps")
    assert find_damage(landing) == []
    path = Path(landing.store.absolute(steps.path))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    (refusal,) = find_damage(landing)
    assert refusal.path == manifest.path
    assert refusal.reason.startswith(f"{steps.path}: damaged, checksum ")
    assert refusal.reason.endswith(f" instead of {steps.checksum}")


def test_refusals_are_noted_once_with_zone_and_time(empty_warehouse):
    refusals = [Refusal("notes.txt", FOREIGN), Refusal("notes.txt", "torn"), Refusal("other.txt", FOREIGN)]
    before = datetime.now(UTC)
    with_rows = empty_warehouse.cursor()
    with_rows.begin()
    for url in ("zone", "zone", "other zone"):
        record_refusals(with_rows, url, refusals)
    rows = with_rows.sql("from main.quarantine order by landing_url desc, path, reason").fetchall()
    with_rows.rollback()
    assert [row[:3] for row in rows] == [(url, *refusal) for url in ("zone", "other zone") for refusal in refusals]
    assert all(before <= row[3] <= datetime.now(UTC) for row in rows)


def test_refused_files_of_one_name_are_all_kept(landing):
    for content in (b"one", b"two", b"three"):
        landing.store.write("notes.txt", content)
        quarantine_files(landing.store, [Refusal("notes.txt", FOREIGN)])
    kept = {file.path: landing.store.read(file.path) for file in landing.store.find()}
    assert kept == {
        "quarantine/notes.txt": b"one",
        "quarantine/notes.txt.2": b"two",
        "quarantine/notes.txt.3": b"three",
    }


def test_objects_and_young_leftovers_are_no_refusals():
    assert _reasons("objects/x") == []
    assert _reasons("quarantined/x") == [FOREIGN]
    assert _reasons("steps/run_id=r/.x.parquet.tmp") == ["left behind by a writer that ended while writing it"]
    assert _reasons(f"bundles/run_id=r/{BUNDLE}.json") == []


def test_unreadable_manifest_is_refused_with_its_reason():
    path = f"bundles/run_id=r/{BUNDLE}.json"
    unreadable = Manifests((), {path: "not a manifest"}, {})
    assert inspect_landing([FoundFile(path, 4, OLD)], unreadable, (), NOW) == [(path, "not a manifest")]
