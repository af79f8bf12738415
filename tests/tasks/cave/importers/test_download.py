"""A download is read as a wheel or as its folder, and its modules leave nothing behind."""

import sys
import zipfile
from types import ModuleType

import pytest

from carryover.tasks.cave.importers.download import Download, open_download
from carryover.tasks.services.errors import UserError

PACKAGE = "made_package"
MODULE = f"""
import {PACKAGE}_stub
from {PACKAGE}.above import name
from {PACKAGE}.inner.other import word
told = word + name + {PACKAGE}_stub.ending
"""


@pytest.fixture
def folder(tmp_path):
    inner = tmp_path / PACKAGE / "inner"
    inner.mkdir(parents=True)
    (tmp_path / PACKAGE / "__init__.py").write_text("raise SystemExit('a package is not run')")
    (inner / "main.py").write_text(MODULE)
    (inner / "other.py").write_text("word = 'hello '\n")
    (inner.parent / "above.py").write_text("name = 'Ana'\n")
    return tmp_path


def test_a_file_is_read_from_a_wheel_or_its_folder(folder):
    with zipfile.ZipFile(folder / "made.whl", "w") as wheel:
        wheel.writestr("a/b.txt", b"text")
    (folder / "a").mkdir()
    (folder / "a/b.txt").write_bytes(b"text")
    (folder / "broken.whl").write_bytes(b"no archive")
    for path in (folder, folder / "made.whl"):
        assert Download(path, "made 1.0").read("a/b.txt") == b"text"
    for path, name in ((folder, "c"), (folder / "made.whl", "c"), (folder / "broken.whl", "a/b.txt")):
        with pytest.raises(UserError) as refused:
            Download(path, "made 1.0").read(name)
        assert str(refused.value) == (
            f"{path} has no {name}; give the wheel made 1.0, or the folder it was unpacked to"
        )


def test_modules_are_imported_beside_an_installed_package(folder, monkeypatch):
    installed = ModuleType(PACKAGE)
    monkeypatch.setitem(sys.modules, PACKAGE, installed)
    (module,) = Download(folder, "made 1.0").modules([f"{PACKAGE}.inner.main"], {f"{PACKAGE}_stub": {"ending": "!"}})
    assert (module.told, module.__name__) == ("hello Ana!", f"{PACKAGE}.inner.main")
    assert {name: one for name, one in sys.modules.items() if name.startswith(PACKAGE)} == {PACKAGE: installed}


def test_a_module_that_is_not_there_is_named(folder):
    with pytest.raises(UserError) as refused:
        Download(folder, "made 1.0").modules([f"{PACKAGE}.inner.missing"], {})
    assert str(refused.value) == (
        f"{folder} is not the wheel made 1.0, or a library is missing: No module named '{PACKAGE}.inner.missing'"
    )
    assert not [name for name in sys.modules if name.startswith(PACKAGE)]


def test_a_download_is_the_users_own(tmp_path):
    assert open_download(str(tmp_path), "made", "made-eval 1.0") == Download(tmp_path, "made-eval 1.0")
    with pytest.raises(UserError) as refused:
        open_download(None, "made", "made-eval 1.0", " (a hint)")
    command = "pip download --no-deps made-eval==1.0"
    assert str(refused.value) == f"made needs your own download: `{command}`, then --data (a hint)"
