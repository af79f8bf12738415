"""Python's modules as a block finds them."""

import logging
import os
from importlib.machinery import ModuleSpec, PathFinder
from types import SimpleNamespace
from typing import Any

import pytest

from carryover.tasks.runtime.inside import adapting
from carryover.tasks.runtime.inside.adapting import _ADAPTED, _Finder, _is_no_delay, _PipeEnd, _uri_without_locks


@pytest.mark.parametrize(
    ("message", "is_shown"),
    [("Matplotlib is building the font cache; this may take a moment.", False), ("findfont: not found", True)],
)
def test_the_font_caches_delay_is_not_told(message, is_shown):
    record = logging.LogRecord("matplotlib.font_manager", logging.WARNING, "", 1, message, (), None)
    assert _is_no_delay(record) is is_shown


@pytest.mark.parametrize(
    ("uri", "without_locks"),
    [
        ("file:a.db", "file:a.db?vfs=unix-none"),
        ("file:a.db?mode=ro", "file:a.db?mode=ro&vfs=unix-none"),
        ("file:a.db?mode=ro&&cache=shared#part", "file:a.db?mode=ro&cache=shared&vfs=unix-none"),
        ("file::memory:", "file::memory:"),
        ("file::memory:?cache=shared", "file::memory:?cache=shared"),
        ("file:shared?mode=memory&cache=shared", "file:shared?mode=memory&cache=shared"),
        ("file:a.db?vfs=unix", "file:a.db?vfs=unix"),
    ],
)
def test_database_of_a_uri_is_opened_without_locks(uri, without_locks):
    assert _uri_without_locks(uri) == without_locks


@pytest.mark.parametrize(
    ("database", "options", "opened"),
    [
        ("a b.db", {}, ("file:a%20b.db?vfs=unix-none", {"uri": True})),
        (b"a.db", {}, ("file:a.db?vfs=unix-none", {"uri": True})),
        ("", {}, ("", {"uri": False})),
        (":memory:", {}, (":memory:", {"uri": False})),
        ("file:a.db", {}, ("file:file%3Aa.db?vfs=unix-none", {"uri": True})),
        ("file:a.db", {"uri": True}, ("file:a.db?vfs=unix-none", {"uri": True})),
        ("a.db", {"uri": True, "timeout": 1}, ("file:a.db?vfs=unix-none", {"uri": True, "timeout": 1})),
    ],
)
def test_sqlite_opens_files_without_locks(database, options, opened):
    module = SimpleNamespace(connect=lambda database, **named: (database, named))
    _ADAPTED["sqlite3.dbapi2"](module)
    assert module.connect(database, **options) == opened
    assert (module.connect.__name__, module.connect.__qualname__) == ("connect", "connect")


def test_copies_go_without_what_is_denied():
    asked = []

    def change(*paths: Any, **settings: Any) -> None:
        asked.append((paths, settings))
        raise PermissionError

    def fail(*_paths: Any) -> None:
        raise FileNotFoundError

    module = SimpleNamespace(copymode=change, copystat=change)
    _ADAPTED["shutil"](module)
    module.copymode("a", "b")
    module.copystat("c", follow_symlinks=False)
    assert asked == [(("a", "b"), {}), (("c",), {"follow_symlinks": False})]
    assert module.copymode.__name__ == "change"
    database = SimpleNamespace(_Database=SimpleNamespace(_chmod=change))
    _ADAPTED["dbm.dumb"](database)
    database._Database._chmod("d")
    assert asked[2:] == [(("d",), {})]
    database._Database._chmod = fail
    _ADAPTED["dbm.dumb"](database)
    with pytest.raises(FileNotFoundError):
        database._Database._chmod("a")


def test_displays_go_to_the_sandbox_s_own(monkeypatch):
    shown = []
    monkeypatch.setattr(adapting, "_shown_by", [print])
    module = SimpleNamespace()
    _ADAPTED["IPython.core.display_functions"](module)
    adapting.show_with(lambda *objects, **options: shown.append((objects, options)))
    module.display(1, 2, raw=True)
    assert shown == [((1, 2), {"raw": True})]


def test_loops_are_woken_by_a_pipe():
    class Loop:
        _internal_fds = 0
        _csock: Any
        _ssock: Any

        def _read_from_self(self) -> None:
            """Do nothing."""

        def _add_reader(self, descriptor: int, callback: Any) -> None:
            self.reader = descriptor, callback

    module = SimpleNamespace(BaseSelectorEventLoop=Loop)
    _ADAPTED["asyncio.selector_events"](module)
    loop: Any = Loop()
    loop._make_self_pipe()
    assert loop._internal_fds == 1
    assert loop.reader == (loop._ssock.fileno(), loop._read_from_self)
    assert loop._csock.send(b"ab") == 2
    assert loop._ssock.recv(1) == b"a"
    assert not os.get_blocking(loop._ssock.fileno())
    assert not os.get_blocking(loop._csock.fileno())
    for end in (loop._ssock, loop._csock):
        descriptor = end.fileno()
        end.close()
        end.close()
        assert end.fileno() == -1
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(descriptor)


def test_first_descriptor_is_closed_too(monkeypatch):
    closed = []
    monkeypatch.setattr(adapting.os, "close", closed.append)
    _PipeEnd(0).close()
    assert closed == [0]


def test_modules_are_adapted_once_they_have_run(monkeypatch):
    notes = []
    spec = SimpleNamespace(loader=SimpleNamespace(exec_module=lambda module: notes.append(("ran", module))))
    monkeypatch.setattr(PathFinder, "find_spec", lambda *_: spec)
    monkeypatch.setitem(_ADAPTED, "made", lambda module: notes.append(("adapted", module)))
    finder = _Finder()
    assert finder.find_spec("other") is None
    finder.find_spec("made").loader.exec_module("module")
    assert notes == [("ran", "module"), ("adapted", "module")]
    monkeypatch.setattr(PathFinder, "find_spec", lambda *_: None)
    assert finder.find_spec("made") is None


def test_host_s_package_is_not_found_where_its_files_are_hidden(monkeypatch, tmp_path):
    readable = tmp_path / "__init__.py"
    readable.write_text("")
    finder = _Finder()
    for origin in (None, str(tmp_path / "missing")):
        found = ModuleSpec("carryover", None, origin=origin)
        monkeypatch.setattr(PathFinder, "find_spec", lambda *_, found=found: found)
        with pytest.raises(ModuleNotFoundError, match=r"^No module named 'carryover'$") as raised:
            finder.find_spec("carryover")
        assert raised.value.name == "carryover"
    for found in (None, ModuleSpec("carryover", None, origin=str(readable))):
        monkeypatch.setattr(PathFinder, "find_spec", lambda *_, found=found: found)
        assert finder.find_spec("carryover") is None
