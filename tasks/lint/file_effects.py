"""Files that calls of Python write and read."""

import ast
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import NamedTuple, TypeGuard

from carryover.tasks.lint.literals import Constants, argument, keyword, text_of
from carryover.tasks.lint.shell import Effect, EffectKind

_OPENERS = ("", "io", "codecs", "gzip", "bz2", "lzma", "builtins", "zipfile", "tarfile", "h5py",
            "Image", "PIL.Image")  # fmt: skip
_DATABASES = ("sqlite3", "shelve", "dbm")
"""Modules that read a file if there is one, and make it."""
_NUMPY_SUFFIXES = {"save": ".npy", "savez": ".npz", "savez_compressed": ".npz"}
"""Suffixes that NumPy adds to a path without them."""
_ON_PATH: dict[str, EffectKind] = {"write_text": "set", "write_bytes": "set", "touch": "set", "mkdir": "set",
                             "read_text": "read", "read_bytes": "read", "unlink": "clear",
                             "iterdir": "read", "glob": "read", "rglob": "read"}  # fmt: skip
"""Methods of a path."""
_WRITING = (
    "to_csv", "to_json", "to_parquet", "to_excel", "to_pickle", "to_feather", "to_html", "to_markdown", "to_netcdf",
    "write_csv", "write_json", "write_parquet", "write_ipc", "write_ndjson", "savefig", "save", "savez", "savetxt",
    "savez_compressed", "imwrite", "makedirs", "write_image", "write_html", "tofile", "imsave",
)  # fmt: skip
"""Functions whose first argument is a path; of `torch.save`, the second."""
_MAKING_FOLDERS = ("makedirs", "mkdir")
"""Functions whose path may be made with its parents; other writes take the folder that they write into."""
_COPYING = ("dump", "urlretrieve", "copy", "copyfile", "copytree", "move", "rename", "replace")
"""Functions whose second argument is a path, and mostly the first one."""
_READING = ("load", "loadtxt", "genfromtxt", "imread", "fromfile", "scan_csv", "scan_parquet", "ExcelFile")


class Called(NamedTuple):
    """A call, with the name and the owner of what is called."""

    node: ast.Call
    owner: str
    name: str


def file_effects(called: Called, constants: Constants) -> Iterator[Effect]:
    """Yield a call's effects on files of known paths.

    A relative path needs the working directory.
    """
    handler = _HANDLERS.get(called.name)
    if handler is None and called.name.startswith("read_"):
        handler = _reads_first
    if handler is None:
        return
    for path, kind in handler(called, constants):
        if not _is_local(path):
            continue
        if kind == "read" and not path.startswith(("/", "~")):
            yield Effect("directory", "read", "")
        if kind == "set" and called.name not in _MAKING_FOLDERS:
            yield Effect("files", "read", str(PurePosixPath(path).parent))
        yield Effect("files", kind, str(PurePosixPath(path)))


def _is_local(path: str | None) -> TypeGuard[str]:
    """Tell whether a text names a file: no address, no content."""
    return bool(path) and "://" not in path and "\n" not in path


Paths = list[tuple[str | None, EffectKind]]


def _opens(called: Called, constants: Constants) -> Paths:
    """Return the path of `open(path, mode)` or of `path.open(mode)`."""
    if called.owner in _DATABASES:
        return _connects(called, constants)
    owner = _owner_path(called, constants)
    is_function = called.owner in _OPENERS and owner is None
    path = argument(called.node, 0, constants) if is_function else owner
    mode = argument(called.node, 1 if is_function else 0, constants) or keyword(called.node, "mode", constants) or "r"
    return [(path, "set" if mode[:1] in ("w", "a", "x") else "read")]


def _owner_path(called: Called, constants: Constants) -> str | None:
    function = called.node.func
    if isinstance(function, ast.Attribute):
        return text_of(function.value, constants)
    return None


def _acts_on_path(called: Called, constants: Constants) -> Paths:
    path = _owner_path(called, constants)
    if path is None and called.owner == "os":
        path = argument(called.node, 0, constants)
    return [(path, _ON_PATH[called.name])]


def _writes(called: Called, constants: Constants) -> Paths:
    if called.owner == "torch":
        return [(argument(called.node, 1, constants), "set")]
    path = argument(called.node, 0, constants)
    suffix = _NUMPY_SUFFIXES.get(called.name, "")
    if path is not None and called.owner in ("np", "numpy"):
        path = path.removesuffix(suffix) + suffix
    return [(path, "set")]


def _copies(called: Called, constants: Constants) -> Paths:
    first = argument(called.node, 0, constants)
    second = argument(called.node, 1, constants)
    if called.name == "urlretrieve" or called.owner == "joblib":
        return [(second, "set")]
    if called.owner in ("shutil", "os"):
        return [(first, "read"), (second, "set")]
    return []


def _reads_first(called: Called, constants: Constants) -> Paths:
    return [(argument(called.node, 0, constants), "read")]


def _connects(called: Called, constants: Constants) -> Paths:
    """Return a database's file, which is read if there, and made."""
    path = argument(called.node, 0, constants)
    if called.owner in _DATABASES and path != ":memory:":
        return [(path, "read"), (path, "set")]
    return []


_HANDLERS: dict[str, Callable[[Called, Constants], Paths]] = {
    **dict.fromkeys(("open", "ZipFile", "File"), _opens),
    "connect": _connects,
    **dict.fromkeys(_ON_PATH, _acts_on_path),
    **dict.fromkeys(_WRITING, _writes),
    **dict.fromkeys(_COPYING, _copies),
    **dict.fromkeys(_READING, _reads_first),
}
