"""What forks share: open files, shared memory, pipes' contents.

A frozen process that goes on puts the offsets back, and has shared memory of its own with the content of then. What a
pipe or another object of the kernel holds cannot be put back: it is named to the host where it may have changed.
"""

import ctypes
import mmap
import select
import stat
from _weakref import ref
from collections.abc import Mapping
from fcntl import ioctl
from os import fstat  # a reference of our own: a block may rebind what a module holds
from sys import byteorder
from typing import Any

from .open_files import Identity, OpenFiles, has_identity, identity_of

_LOWEST = 3
_USUAL = 20
_MOST = 4096
_NEAR = range(12, _USUAL)
"""Where one of these is open, others may be open above."""
_BYTES_WAITING = 0x541B  # FIONREAD
_INT_BYTES = 4
_UNKNOWN = -1
"""Fill of what is readable and does not say how much it holds."""
_PROTECTION = mmap.PROT_READ | mmap.PROT_WRITE
_SHARED_IN_PLACE = mmap.MAP_SHARED | 0x10  # MAP_FIXED: in the place of the other
_NO_FILE = -1
_SIZE_LIMIT = 256 << 20
"""Bytes of shared memory that are noted; more is named to the host."""
_ACCESS_DEFAULT = 0
_ACCESS_WRITE = 2
_Original = mmap.mmap
_tracked: list[Any] = []
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *(ctypes.c_int,) * 3, ctypes.c_long)


class _Tracked(_Original):
    """A `mmap.mmap` that is found again if forks share it."""

    def __new__(cls, fileno: int, length: int, *settings: Any, **named: Any) -> Any:
        made: Any = _Original.__new__(cls, fileno, length, *settings, **named)
        flags = settings[0] if settings else named.get("flags", mmap.MAP_SHARED)
        protection = named.get("prot", settings[1] if len(settings) > 1 else _PROTECTION)
        access = named.get("access", settings[2] if len(settings) > 2 else _ACCESS_DEFAULT)
        is_shared = access == _ACCESS_DEFAULT and flags & mmap.MAP_SHARED and protection & mmap.PROT_WRITE
        if access == _ACCESS_WRITE or is_shared:
            made.file = identity_of(fstat(fileno)) if fileno >= 0 else None
            made.offset = named.get("offset", settings[3] if len(settings) > 3 else 0)
            _tracked.append(ref(made, _tracked.remove))
        return made


_Tracked.__name__ = _Tracked.__qualname__ = "mmap"
_Tracked.__module__ = "mmap"


def track() -> None:
    """Let shared memory that blocks make be found again."""
    mmap.mmap = _Tracked  # type: ignore[misc]


class Shared:
    """Memory and pipes shared with forks, before the last one."""

    def __init__(self) -> None:
        self._usual = _poll_of(_LOWEST, _USUAL)
        self._others: Any = None
        self.files = OpenFiles()
        self._fills: dict[int, tuple[Identity, int]] = {}
        """Identity and fill of what cannot be put back."""
        self._contents: list[tuple[Any, bytes]] = []

    def note(self, own: frozenset[int]) -> None:
        """Note all that a fork would share but the runtime's own descriptors."""
        found = self._open() - own
        if not (found or _tracked or self._fills or self._contents) and self.files.is_empty():
            return  # what is not written to is not copied by a fork
        self._contents = _contents() if _tracked else []
        self._fills = {}
        for descriptor in self.files.note(found, is_mapped=self.has_mappings()):
            self._fills[descriptor] = identity_of(fstat(descriptor)), _fill(descriptor)

    def resume(self, files: frozenset[int]) -> dict[str, Any]:
        """Put back what can be; return the rest.

        Mappings of `files`, by inode, follow their file.
        """
        self.files.seek()
        held = []
        for made, content in self._contents:
            mapping = made()
            if mapping is None or mapping.closed:
                continue
            address = _address(mapping)
            held.append([address, len(content)])
            inode = None if mapping.file is None else mapping.file[1]
            if inode not in files:  # the folder puts its own files back, and their mappings follow
                _replace(address, content)
        pipes = [descriptor for descriptor, (known, _) in self._fills.items() if has_identity(descriptor, known)]
        changed = [descriptor for descriptor in pipes if _may_differ(descriptor, self._fills[descriptor][1])]
        return {"pipes": pipes, "changed": changed, "held": held}

    def put_back(self, moved: Mapping[Identity, str]) -> None:
        """Put open files back, and let mappings follow them; `moved` has the new path of a file."""
        followed = self.files.put_back(moved, is_mapped=self.has_mappings())
        for mapping in _mappings():
            if mapping.file in followed:
                descriptor = followed[mapping.file]
                _map(_address(mapping), len(mapping), descriptor, mapping.offset)
                mapping.file = identity_of(fstat(descriptor))

    def has_mappings(self) -> bool:
        """Tell whether a file may change without a sign, by shared memory."""
        return bool(_tracked)

    def _open(self) -> set[int]:
        """Return the open descriptors: with one call, as most are closed."""
        found = _opened(self._usual, _LOWEST, _USUAL)
        if self._others is None and found.isdisjoint(_NEAR):
            return found
        if self._others is None:
            self._others = _poll_of(_USUAL, _MOST)
        return found | _opened(self._others, _USUAL, _MOST)


def _poll_of(first: int, last: int) -> Any:
    poll = select.poll()
    for descriptor in range(first, last):
        poll.register(descriptor, 0)
    return poll


def _opened(poll: Any, first: int, last: int) -> set[int]:
    closed = {descriptor for descriptor, event in poll.poll(0) if event & select.POLLNVAL}
    return set(range(first, last)) - closed


def _mappings() -> list[Any]:
    """Return the open mappings."""
    mappings = [made() for made in tuple(_tracked)]  # a collection of garbage takes some away
    return [mapping for mapping in mappings if mapping is not None and not mapping.closed]


def _contents() -> list[tuple[Any, bytes]]:
    left = _SIZE_LIMIT
    found = []
    for mapping in _mappings():
        left -= len(mapping)
        if left >= 0:
            found.append((ref(mapping), _Original.__getitem__(mapping, slice(None))))
    return found


def _address(mapping: Any) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(mapping))


def _replace(address: int, content: bytes) -> None:
    """Replace shared memory by new memory with its content."""
    if _map(address, len(content), _NO_FILE, 0):
        ctypes.memmove(address, content, len(content))


def _map(address: int, size: int, descriptor: int, offset: int) -> bool:
    """Map a file, or new memory, in the place of a mapping; tell whether it is there."""
    # At the same address, so that every object which the block made of the mapping goes on working.
    flags = _SHARED_IN_PLACE | (mmap.MAP_ANONYMOUS if descriptor == _NO_FILE else 0)
    return _libc.mmap(address, size, _PROTECTION, flags, descriptor, offset) == address


def _may_differ(descriptor: int, fill: int) -> bool:
    return fill == _UNKNOWN or _fill(descriptor) != fill


def _fill(descriptor: int) -> int:
    """Return a pipe's waiting bytes, or what another object tells of its content."""
    status = fstat(descriptor)
    if stat.S_ISREG(status.st_mode):
        return status.st_mtime_ns
    if stat.S_ISFIFO(status.st_mode) or stat.S_ISSOCK(status.st_mode):
        try:
            return int.from_bytes(ioctl(descriptor, _BYTES_WAITING, bytes(_INT_BYTES)), byteorder)
        except OSError:
            return 0
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return _UNKNOWN if poll.poll(0) else 0
