"""Files that workers with data folders of their own share."""

from pathlib import Path

import pytest

from carryover.storage.errors import LandingError
from carryover.storage.warehouse.merger import merge
from carryover.storage.zone.files import FileStore
from carryover.storage.zone.landing import LandingZone
from carryover.storage.zone.objects import (
    KeptFolder,
    begin_generation,
    fetch_files,
    find_folder,
    has_objects,
    keep_file,
    keep_folder,
    open_folder,
    read_generation,
)
from carryover.tasks.services.folders import Folders


@pytest.fixture(params=["folder", "object storage"])
def homes(request, tmp_path):
    """Two data folders around one landing zone."""
    landing = str(tmp_path / "landing") if request.param == "folder" else f"memory://{tmp_path.name}/landing"
    return [Folders(home=tmp_path / name, landing=landing) for name in ("one", "two")]


def write_model(folders):
    folder = folders.models / "m"
    (folder / "checkpoints").mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(b"weights" * 200_000)
    (folder / "carryover.json").write_bytes(b"{}")
    (folder / ".training.lock").write_bytes(b"")
    return folder


def test_a_folder_opens_in_another_home(homes):
    one, two = homes
    kept = keep_folder(one, write_model(one))
    assert not kept.path.is_absolute()
    folder = open_folder(two, KeptFolder.model_validate_json(kept.model_dump_json()))
    assert folder == two.models / "m"
    assert {path.name for path in folder.iterdir()} == {"carryover.json", "model.safetensors"}
    assert (folder / "model.safetensors").read_bytes() == b"weights" * 200_000


def test_what_is_there_stays_until_it_is_made_anew_elsewhere(homes):
    one, two = homes
    open_folder(two, keep_folder(one, write_model(one)))
    card, weights = (two.models / "m" / name for name in ("carryover.json", "model.safetensors"))
    before = card.stat().st_ino, weights.stat().st_ino
    open_folder(two, keep_folder(one, one.models / "m"))
    assert (card.stat().st_ino, weights.stat().st_ino) == before
    for name in (card.name, weights.name):
        (one.models / "m" / name).write_bytes(b"trained again" * 100_000 * (name == weights.name) + b".")
    open_folder(two, keep_folder(one, one.models / "m"))
    assert card.read_bytes() == b"."
    assert weights.read_bytes() == (one.models / "m" / weights.name).read_bytes()


def test_missing_and_damaged_objects_are_named(homes):
    one, two = homes
    kept = keep_folder(one, write_model(one))
    digest = kept.files["model.safetensors"]
    with pytest.raises(LandingError, match=f"cannot read .*objects/{'0' * 64}"):
        fetch_files(two, {two.models / "n": "0" * 64})
    damaged = two.home / "damaged"
    damaged.parent.mkdir(exist_ok=True)
    damaged.write_bytes(b"x")
    FileStore(one.landing).upload(damaged, f"objects/{digest}")
    with pytest.raises(LandingError, match=f"objects/{digest} is damaged; remove it and refresh its stage"):
        open_folder(two, kept)
    assert not (two.models / "m" / "model.safetensors").exists()


def test_a_kept_folder_is_found_where_all_of_it_can_be_fetched(homes):
    one, two = homes
    kept = keep_folder(one, write_model(one))
    assert sorted(kept.files) == ["carryover.json", "model.safetensors"]
    assert has_objects(two, kept.files.values())
    assert find_folder(two, kept) == two.models / "m"
    assert (two.models / "m" / "carryover.json").exists()
    incomplete = kept.model_copy(update={"files": {**kept.files, "more": "0" * 64}})
    assert not has_objects(two, incomplete.files.values())
    assert find_folder(two, incomplete) is None
    assert find_folder(two, KeptFolder(path=Path("models/other"))) is None


def test_a_file_is_stored_once(homes, monkeypatch):
    one, _ = homes
    folder = write_model(one)
    digest = keep_file(one, folder / "carryover.json")
    assert digest == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    assert FileStore(one.landing).read(f"objects/{digest}") == b"{}"
    monkeypatch.setattr(FileStore, "upload", None)
    assert keep_file(one, folder / "carryover.json") == digest


def test_a_merge_leaves_objects_alone(homes, make_episode):
    one, two = homes
    zone = LandingZone(one.landing)
    zone.write(make_episode("e"), "run")
    kept = keep_folder(one, write_model(one))
    assert merge(zone, one.warehouse).refusals == ()
    assert (open_folder(two, kept) / "model.safetensors").exists()


def test_homes_around_one_landing_zone_are_of_one_generation(homes):
    one, two = homes
    first = read_generation(one)
    assert read_generation(two) == first
    begin_generation(two)
    assert read_generation(one) != first


def test_nothing_is_copied_within_one_home(tmp_path):
    folders = Folders(home=tmp_path, landing=str(tmp_path / "landing"))
    folder = write_model(folders)
    assert keep_folder(folders, folder) == KeptFolder(path=folder.relative_to(tmp_path))
    keep_file(folders, folder / "model.safetensors")
    assert has_objects(folders, ["0" * 64])
    assert read_generation(folders) == read_generation(folders) == (tmp_path / ".generation").read_text()
    assert not (tmp_path / "landing").exists()
    assert open_folder(folders, keep_folder(folders, folder)) == folder
    elsewhere = tmp_path.parent / "hub"
    assert open_folder(folders, keep_folder(folders, elsewhere)) == elsewhere
