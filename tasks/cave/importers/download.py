"""The user's own download of a benchmark: a wheel or its folder."""

import importlib
import sys
import threading
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from carryover.tasks.services.errors import UserError

_IMPORTING = threading.Lock()


class Download(NamedTuple):
    """A wheel on disk."""

    path: Path
    wheel: str
    """Name and version of the wheel that is expected."""

    def read(self, name: str) -> bytes:
        """Return a file's content.

        Raises:
            UserError: The download lacks it.
        """
        try:
            if self.path.suffix == ".whl":
                with zipfile.ZipFile(self.path) as wheel:
                    return wheel.read(name)
            return (self.path / name).read_bytes()
        except (OSError, KeyError, zipfile.BadZipFile) as error:
            raise UserError(
                f"{self.path} has no {name}; give the wheel {self.wheel}, or the folder it was unpacked to"
            ) from error

    def modules(self, names: Sequence[str], stubs: Mapping[str, Mapping[str, Any]]) -> list[ModuleType]:
        """Import modules in this process without running the `__init__` of their packages.

        An installed package of the same name is neither used nor replaced. `stubs` are the contents of modules that
        they import and that need not be installed.

        Raises:
            UserError: The download lacks a module, or a module needs a library that is not installed.
        """
        roots = {name.partition(".")[0] for name in (*names, *stubs)}
        with _IMPORTING:
            installed = _forget(roots)
            try:
                for name in names:
                    self._add_packages(name)
                for name, content in stubs.items():
                    sys.modules[name] = ModuleType(name)
                    vars(sys.modules[name]).update(content)
                return [importlib.import_module(name) for name in names]
            except ImportError as error:
                raise UserError(
                    f"{self.path} is not the wheel {self.wheel}, or a library is missing: {error}"
                ) from error
            finally:
                _forget(roots)
                sys.modules.update(installed)

    def _add_packages(self, name: str) -> None:
        parts = name.split(".")[:-1]
        for depth in range(1, len(parts) + 1):
            package = ModuleType(".".join(parts[:depth]))
            package.__path__ = [str(self.path.joinpath(*parts[:depth]))]
            sys.modules[package.__name__] = package


def open_download(data: str | None, suite: str, wheel: str, hint: str = "") -> Download:
    """Return the download that was given.

    Raises:
        UserError: None was given.
    """
    if data is None:
        command = f"pip download --no-deps {wheel.replace(' ', '==')}"
        raise UserError(f"{suite} needs your own download: `{command}`, then --data{hint}")
    return Download(Path(data), wheel)


def _forget(roots: set[str]) -> dict[str, ModuleType]:
    return {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] in roots}
