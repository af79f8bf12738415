"""Files that appear whole or not at all, local or fsspec's."""

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from glob import has_magic
from pathlib import Path
from typing import Any, NamedTuple

import fsspec
from fsspec.implementations.local import LocalFileSystem

from carryover.storage.errors import LandingError, UnreachableZoneError
from carryover.tasks.services.errors import is_out_of_space, name_write_remedy
from carryover.tasks.services.whole_files import write_whole, written_whole

REACH = "see that it can be reached, and with which credentials"
"""Way out where a store refuses to be read, and where one that is no folder refuses anything."""


class FoundFile(NamedTuple):
    """A file below a store's root, as a listing shows it."""

    path: str
    """Relative to the root, with `/`."""
    byte_count: int
    modified_at: datetime | None


class FileStore:
    """A folder of immutable files behind fsspec.

    Knows what makes a write atomic and durable there.
    """

    def __init__(self, url: str | Path, storage_options: Mapping[str, Any] | None = None) -> None:
        """Open the folder or bucket at `url`.

        Raise `LandingError` for a URL that no installed filesystem opens, or with wildcards.
        """
        try:
            self.filesystem, root = fsspec.url_to_fs(str(url), **(storage_options or {}))
        except (ValueError, ImportError) as error:
            raise LandingError(f"cannot open {url}: {error}") from error
        self.root = root.rstrip("/")
        self.is_local = isinstance(self.filesystem, LocalFileSystem)
        if not self.is_local and has_magic(root):
            # fsspec expands them where it reads, copies and removes several objects.
            raise LandingError(f"cannot open {url}: wildcards in the name; choose one without *, ? and [")
        self._errors: tuple[type[Exception], ...] = (OSError,)  # raised where files cannot be reached
        if "s3" in self.filesystem.protocol:
            from botocore.exceptions import BotoCoreError, ClientError

            self._errors += (BotoCoreError, ClientError)
        # Of a local folder the whole path: a warehouse remembers where its bundles are from.
        self.url = os.path.normpath(root) if self.is_local else str(url).rstrip("/")

    def write(self, path: str, content: bytes | memoryview) -> None:
        """Make `content` appear at `path` whole and durably.

        Raise `LandingError` naming the path where it cannot.
        """
        target = self.absolute(path)
        with self._telling(f"write {target}", is_reading=False):
            if self.is_local:
                write_whole(Path(target), content)
            else:
                # One put of one object is atomic on object storage: there is nothing to rename.
                self.filesystem.pipe_file(target, bytes(content))

    def upload(self, source: Path, path: str) -> None:
        """Make a copy of a file appear at `path` whole.

        Raise `LandingError` naming the path where it cannot.
        """
        target = self.absolute(path)
        with self._telling(f"write {target}", is_reading=False):
            if self.is_local:
                Path(target).parent.mkdir(parents=True, exist_ok=True)
                with written_whole(Path(target)) as temporary:
                    shutil.copyfile(source, temporary)
            else:
                self.filesystem.put_file(str(source), target)

    def download(self, path: str, target: Path) -> None:
        """Copy a file of the store to a place on this disk.

        Raise `LandingError` naming the path where it cannot, also for an absent file.
        """
        source = self.absolute(path)
        with self._telling(f"read {source}"):
            try:
                self.filesystem.get_file(source, str(target))
            except FileNotFoundError as error:
                raise LandingError(f"cannot read {source}: no such file; refresh the stage that made it") from error
            except OSError as error:
                if not is_out_of_space(error):
                    raise
                raise LandingError(f"cannot write {target}: {error.strerror}; {name_write_remedy(error)}") from error

    def has(self, path: str) -> bool:
        """Tell whether there is a file at `path`."""
        with self._telling(f"read {self.absolute(path)}"):
            return self.filesystem.exists(self.absolute(path))

    def read(self, path: str) -> bytes:
        """Return a file's bytes; raise `FileNotFoundError` if there is none."""
        with self._telling(f"read {self.absolute(path)}"):
            return self.filesystem.cat_file(self.absolute(path))

    def read_many(self, paths: Sequence[str]) -> dict[str, bytes]:
        """Return the bytes of several files by path, vanished ones left out.

        Fetched at once where the store can.
        """
        if not paths:
            return {}
        if self.is_local:
            return self._read_local(paths)
        with self._telling(f"read from {self.url}"):
            fetched = self.filesystem.cat([self.absolute(path) for path in paths], on_error="return")
        found = {}
        for name, content in fetched.items():
            if isinstance(content, bytes):
                found[self.relative(name)] = content
            elif not isinstance(content, FileNotFoundError):
                reason = " ".join(str(content).split())
                raise LandingError(f"cannot read from {self.url}: {reason}; {REACH}") from content
        return found

    def _read_local(self, paths: Sequence[str]) -> dict[str, bytes]:
        found = {}
        for path in paths:
            with suppress(FileNotFoundError), self._telling(f"read {self.absolute(path)}"):
                found[path] = Path(self.absolute(path)).read_bytes()
        return found

    def find(self, folder: str = "") -> list[FoundFile]:
        """Return every file below `folder`, sorted by path.

        An absent folder holds none.
        """
        start = self.absolute(folder) if folder else self.root
        # Listings are cached per process by some filesystems; other machines land files meanwhile.
        self.filesystem.invalidate_cache()
        try:
            with self._telling(f"list {start}"):
                found = self.filesystem.find(start, detail=True)
        except FileNotFoundError:
            return []
        return sorted(
            FoundFile(self.relative(name), info["size"] or 0, _modified_at(info)) for name, info in found.items()
        )

    def move(self, path: str, target: str) -> None:
        """Move a file within the store.

        A file that is gone already stays gone.
        """
        with suppress(FileNotFoundError), self._telling(f"move {self.absolute(path)}"):
            self.filesystem.makedirs(self.absolute(target).rsplit("/", 1)[0], exist_ok=True)
            self.filesystem.mv(self.absolute(path), self.absolute(target))

    def remove(self, path: str) -> None:
        """Remove a file; a file that is gone already stays gone."""
        with suppress(FileNotFoundError), self._telling(f"remove {self.absolute(path)}"):
            self.filesystem.rm_file(self.absolute(path))

    def absolute(self, path: str) -> str:
        """Return a path as this store's filesystem knows it."""
        return f"{self.root}/{path}"

    def relative(self, name: str) -> str:
        """Return a filesystem's name as a path below the root."""
        if name.startswith(self.root):
            return name[len(self.root) :].lstrip("/")
        return name

    def location(self, path: str) -> str:
        """Return a path with its protocol, as DuckDB and Polars want it."""
        if self.is_local:
            return self.absolute(path)
        return self.filesystem.unstrip_protocol(self.absolute(path))

    @contextmanager
    def _telling(self, deed: str, *, is_reading: bool = True) -> Iterator[None]:
        """Turn what keeps the store from a deed into a `LandingError`.

        A file to read may be absent.
        """
        try:
            yield
        except self._errors as error:
            if is_reading and isinstance(error, FileNotFoundError):
                raise
            raise self._landing_error(error, deed, is_reading=is_reading) from error

    def _landing_error(self, error: Exception, deed: str, *, is_reading: bool) -> LandingError:
        """Return a store's error with the way out, transient or lasting."""
        said = " ".join(str(error).split())
        remedy = REACH
        if isinstance(error, OSError):
            said = error.strerror or said
            if self.is_local and not is_reading:
                remedy = f"{name_write_remedy(error)} or land somewhere else"
        message = f"cannot {deed}: {said}; {remedy}"
        is_lasting = self.is_local or isinstance(error, FileNotFoundError | PermissionError)
        if is_lasting:
            return LandingError(message)
        return UnreachableZoneError(message)


def _modified_at(info: Mapping[str, Any]) -> datetime | None:
    modified = info.get("LastModified") or info.get("mtime") or info.get("modified") or info.get("created")
    if isinstance(modified, int | float):
        return datetime.fromtimestamp(modified, UTC)
    if not isinstance(modified, datetime):
        return None
    if modified.tzinfo:
        return modified
    return modified.replace(tzinfo=UTC)
