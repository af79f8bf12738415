import os
import tempfile
from pathlib import Path

import pytest

from carryover.tasks.runtime.inside.folder import Folder, FolderError
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.runtime.sandbox.bubblewrap import scratch_mount
from carryover.tasks.runtime.sandbox.folders import ScratchFolder, ScratchFolders


@pytest.fixture
def folders(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    made = ScratchFolders(RuntimeSpec(scratch_limit_bytes=1 << 20), "seccomp")
    yield made
    made.close()


def test_removed_folder_is_gone_with_its_content(folders):
    folder = folders.make()
    Path(folder.path, "made.txt").write_text("x")
    folders.remove(folder)
    assert list(Path(folders.base[0]).iterdir()) == []


def test_mounted_folder_leaves_the_host_alone(tmp_path):
    kept = tmp_path / "kept.txt"
    kept.write_text("x")
    folders = ScratchFolders(RuntimeSpec(scratch_limit_bytes=1 << 20), "bwrap+seccomp")
    assert folders.base == []
    made = folders.make()
    assert made is not None
    folders.remove(made._replace(path=str(tmp_path)))
    assert kept.exists()


@pytest.mark.parametrize("path", ["{base}", "{base}/..", "{base}/../other", "{base}/made/deep", "{other}", "/", ""])
def test_folder_elsewhere_is_refused_and_kept(folders, tmp_path, path):
    other = tmp_path / "other"
    other.mkdir()
    (base,) = folders.base
    Path(base, "made/deep").mkdir(parents=True)
    wrong = ScratchFolder(path.format(base=base, other=other), is_mounted=False, limit_bytes=1)
    with pytest.raises(ValueError, match="not a scratch folder of this worker"):
        folders.remove(wrong)
    assert other.is_dir()
    assert Path(base, "made/deep").is_dir()


def test_worker_without_files_removes_nothing(tmp_path):
    folders = ScratchFolders(RuntimeSpec(), "seccomp")
    assert folders.make() is None
    with pytest.raises(ValueError, match="not a scratch folder"):
        folders.remove(ScratchFolder(str(tmp_path), is_mounted=False, limit_bytes=1))
    folders.close()
    assert tmp_path.is_dir()


def test_link_to_a_folder_elsewhere_keeps_its_target(folders, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (base,) = folders.base
    link = Path(base, "link")
    link.symlink_to(other)
    folders.remove(ScratchFolder(str(link), is_mounted=False, limit_bytes=1))
    assert other.is_dir()


def test_sandbox_side_refuses_a_folder_that_holds_files(tmp_path):
    kept = tmp_path / "kept.txt"
    kept.write_text("x")
    with pytest.raises(FolderError, match="is not empty"):
        Folder().open(str(tmp_path), 1 << 20, keeps=True)
    assert kept.exists()


def test_host_s_folders_end_with_their_worker(folders, tmp_path):
    (base,) = folders.base
    assert Path(base).parent == tmp_path.resolve()
    made = folders.make()
    assert (Path(made.path).parent, made.is_mounted, made.limit_bytes) == (Path(base), False, 1 << 20)
    assert made.settings(keeps=True) == {
        "path": made.path, "is_mounted": False, "limit_bytes": 1 << 20, "keeps": True,
    }  # fmt: skip
    with folders.processes() as descriptors:
        assert descriptors == ()
    folders.close()
    assert not Path(base).exists()
    folders.close()
    folders.remove(None)


def test_mounted_folder_comes_with_the_host_s_processes():
    folders = ScratchFolders(RuntimeSpec(scratch_limit_bytes=9), "bwrap+seccomp")
    assert folders.make() == (scratch_mount(), True, 9)
    with folders.processes() as (descriptor,):
        assert os.path.samestat(os.fstat(descriptor), os.stat("/proc"))  # noqa: PTH116
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)
    with ScratchFolders(RuntimeSpec(), "bwrap+seccomp").processes() as descriptors:
        assert descriptors == ()
