"""Python's own modules, adapted to what the walls deny.

`asyncio` wakes its event loops by a pair of sockets: here by a pipe. SQLite locks its files: here it does not, as
locks are kept with the file, where other processes would find them. Copies of files go without the modes and times of
their originals. IPython's `display` is the sandbox's own. matplotlib finds no cache of fonts in a new folder, and says
nothing of a slow machine's making one. The host's package is not found.
"""

import contextlib
import functools
import os
import sys
from collections.abc import Callable
from importlib.machinery import PathFinder
from typing import Any

from .values.instances import OWN_PACKAGE


class _Finder:
    """Finds modules to adapt, with a loader that adapts them."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        """Return the specification of a module to adapt; leave other modules.

        Raises:
            ModuleNotFoundError: The module is the host's package, hidden among the libraries.
        """
        if fullname == OWN_PACKAGE:
            _refuse_hidden(fullname)
        adapt = _ADAPTED.get(fullname)
        if adapt is None:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def execute_and_adapt(module: Any) -> None:
            execute(module)
            adapt(module)

        spec.loader.exec_module = execute_and_adapt
        return spec


def _refuse_hidden(package: str) -> None:
    """Refuse a package whose files the walls hide or deny.

    Without this, its empty folder would be a namespace package.
    """
    spec = PathFinder.find_spec(package)
    if spec is not None and not _can_read(spec.origin):
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)


def _can_read(path: str | None) -> bool:
    if path is None:
        return False
    try:
        os.close(os.open(path, os.O_RDONLY))
    except OSError:
        return False
    return True


_shown_by: list[Callable[..., None]] = [print]


def install() -> None:
    """Adapt the modules that are imported from now on."""
    sys.meta_path.insert(0, _Finder())


def show_with(display: Callable[..., None]) -> None:
    """Let IPython's `display` be this one."""
    _shown_by[0] = display


def _adapt_loops(module: Any) -> None:
    module.BaseSelectorEventLoop._make_self_pipe = _make_self_pipe


def _adapt_sqlite(module: Any) -> None:
    from urllib.parse import quote  # each module that is loaded makes all forks slower

    connect = module.connect

    def connect_without_locks(database: Any, *settings: Any, uri: bool = False, **named: Any) -> Any:
        """Open a database as `sqlite3.connect` does, without locking its file."""
        path = os.fsdecode(database)
        if uri and path.startswith("file:"):
            database = _uri_without_locks(path)
        elif path and path != ":memory:":
            database = f"file:{quote(path)}?vfs=unix-none"
            uri = True
        return connect(database, *settings, uri=uri, **named)

    connect_without_locks.__name__ = connect_without_locks.__qualname__ = "connect"
    module.connect = connect_without_locks


def _uri_without_locks(uri: str) -> str:
    address, _, query = uri.partition("#")[0].partition("?")
    options = list(filter(None, query.split("&")))
    is_memory = address == "file::memory:" or "mode=memory" in options
    if is_memory or any(option.startswith("vfs=") for option in options):
        return uri
    return f"{address}?{'&'.join([*options, 'vfs=unix-none'])}"


def _adapt_copies(module: Any) -> None:
    module.copymode = _where_allowed(module.copymode)
    module.copystat = _where_allowed(module.copystat)


def _where_allowed(change: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(change)
    def change_where_allowed(*paths: Any, **settings: Any) -> None:
        with contextlib.suppress(PermissionError):
            change(*paths, **settings)

    return change_where_allowed


def _adapt_dumb_databases(module: Any) -> None:
    module._Database._chmod = _where_allowed(module._Database._chmod)


def _adapt_displays(module: Any) -> None:
    def display(*objects: Any, **options: Any) -> None:
        _shown_by[0](*objects, **options)

    module.display = display


def _adapt_fonts(_module: Any) -> None:
    import logging

    logging.getLogger("matplotlib.font_manager").addFilter(_is_no_delay)


def _is_no_delay(record: Any) -> bool:
    return not str(record.msg).startswith("Matplotlib is building the font cache")


_ADAPTED: dict[str, Callable[[Any], None]] = {
    "IPython.core.display_functions": _adapt_displays,
    "asyncio.selector_events": _adapt_loops,
    "dbm.dumb": _adapt_dumb_databases,
    "matplotlib": _adapt_fonts,
    "shutil": _adapt_copies,
    "sqlite3.dbapi2": _adapt_sqlite,
}


def _make_self_pipe(loop: Any) -> None:
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    loop._ssock = _PipeEnd(reading)
    loop._csock = _PipeEnd(writing)
    loop._internal_fds += 1
    loop._add_reader(reading, loop._read_from_self)


class _PipeEnd:
    """One end of a pipe, with a socket's methods for loops."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def fileno(self) -> int:
        return self._descriptor

    def recv(self, size: int) -> bytes:
        return os.read(self._descriptor, size)

    def send(self, data: bytes) -> int:
        return os.write(self._descriptor, data)

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1
