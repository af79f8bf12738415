"""Fewer mappings and pages for each fork to copy and each exit to take down.

A library is mapped in five parts whose rights differ; a fork copies each and an exit unmaps it, and a Python process
has a score of libraries. Here they become two, what is written and what is not. The rights that parts gain keep nothing
out: a block may map memory with any rights it likes, and the walls stand around the process.

What is not written then moves to huge pages, as far as it fills them. A fork leaves the small pages of a file for its
child to map again, a fault for every sixteen; of huge pages it copies one entry each, and the child never faults.
"""

import contextlib
import ctypes
import resource
from collections.abc import Iterator
from typing import NamedTuple

_libc = ctypes.CDLL(None)
_PAGE_BYTES = resource.getpagesize()
_LOADED, _READ_ONLY_AFTER_RELOCATION = 1, 0x6474E552  # PT_LOAD, PT_GNU_RELRO
_MAY_WRITE = 2  # PF_W
_READ, _WRITE, _EXECUTE = 1, 2, 4  # PROT_*
_PRIVATE, _ANONYMOUS = 2, 32  # MAP_*
_MAY_MOVE, _TO_PLACE = 1, 2  # MREMAP_*
_COLLAPSE = 25  # MADV_COLLAPSE, which fails where huge pages are not to be had; Linux 6.1
_ENTRY_BYTES = 8
_HUGE_BYTES = _PAGE_BYTES * _PAGE_BYTES // _ENTRY_BYTES
"""What a page full of page table entries maps."""
_LIMIT_BYTES = 16 << 20
"""Of one library; what is larger than an interpreter is used in small parts, and not worth its copy."""

_FAILED = ctypes.c_void_p(-1).value

_libc.mmap.restype = _libc.mremap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_libc.mremap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_libc.mprotect.argtypes = _libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


class Header(ctypes.Structure):
    """A program header, ElfW(Phdr) on 64 bits."""

    _fields_ = (
        ("kind", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("offset", ctypes.c_uint64),
        ("address", ctypes.c_uint64),
        ("physical_address", ctypes.c_uint64),
        ("file_size", ctypes.c_uint64),
        ("size", ctypes.c_uint64),
        ("alignment", ctypes.c_uint64),
    )


class _Library(ctypes.Structure):
    """The beginning of struct dl_phdr_info."""

    _fields_ = (
        ("base", ctypes.c_uint64),
        ("name", ctypes.c_char_p),
        ("headers", ctypes.POINTER(Header)),
        ("header_count", ctypes.c_uint16),
    )


_Visit = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Library), ctypes.c_size_t, ctypes.c_void_p)


class Span(NamedTuple):
    """Whole pages that get equal rights."""

    start: int
    end: int
    rights: int


def compact() -> None:
    """Merge the mappings of every library that is loaded, and give the heap's free pages back.

    Where a system has no such thing or does not allow it, everything stays as it is.
    """
    for span in _spans():
        _libc.mprotect(span.start, span.end - span.start, span.rights)
        huge = huge_part(span)
        if not span.rights & _WRITE and 0 < huge.end - huge.start <= _LIMIT_BYTES:
            _move_to_huge_pages(huge)
    with contextlib.suppress(AttributeError):
        _libc.malloc_trim(0)


def huge_part(span: Span) -> Span:
    """Return what of a span fills huge pages; it ends before it begins, or where, when nothing does."""
    return Span(_round_up(span.start), span.end & -_HUGE_BYTES, span.rights)


def _round_up(address: int) -> int:
    return (address + _HUGE_BYTES - 1) & -_HUGE_BYTES


def _move_to_huge_pages(span: Span) -> None:
    """Put an equal copy on huge pages in the place of what is never written; the code in it may be running."""
    size = span.end - span.start
    room = _libc.mmap(None, size + _HUGE_BYTES, _READ | _WRITE, _PRIVATE | _ANONYMOUS, -1, 0)
    if room == _FAILED:
        return
    copy = _round_up(room)
    _libc.munmap(room, copy - room)
    _libc.munmap(copy + size, room + _HUGE_BYTES - copy)
    ctypes.memmove(copy, span.start, size)
    is_ready = _libc.madvise(copy, size, _COLLAPSE) == 0 and _libc.mprotect(copy, size, span.rights) == 0
    if not is_ready or _libc.mremap(copy, size, size, _MAY_MOVE | _TO_PLACE, span.start) == _FAILED:
        _libc.munmap(copy, size)


def _spans() -> list[Span]:
    """Return what can be merged in the libraries of this process."""
    found: list[Span] = []

    @_Visit
    def visit(library: "ctypes._Pointer[_Library]", _size: int, _data: int | None) -> int:
        base, headers = library.contents.base, library.contents.headers
        found.extend(spans_of(base, [headers[index] for index in range(library.contents.header_count)]))
        return 0

    _libc.dl_iterate_phdr(visit, None)
    return found


def spans_of(base: int, headers: list[Header]) -> Iterator[Span]:
    """Yield what can be merged in a library that is loaded at `base`."""
    loaded = [header for header in headers if header.kind == _LOADED]
    if all(not header.flags & _MAY_WRITE for header in loaded):
        return  # the kernel's own library
    start = end = 0
    for header in loaded:
        if header.flags & _MAY_WRITE:
            continue
        first, last = _pages(base, header)
        if first != end:
            if end:
                yield Span(start, end, _READ | _EXECUTE)
            start = first
        end = last
    if end:
        yield Span(start, end, _READ | _EXECUTE)
    for header in headers:
        if header.kind == _READ_ONLY_AFTER_RELOCATION:
            yield Span(*_pages(base, header), _READ | _WRITE)


def _pages(base: int, header: Header) -> tuple[int, int]:
    """Return where the pages of a part begin and end."""
    first = base + header.address
    return first & -_PAGE_BYTES, (first + header.size + _PAGE_BYTES - 1) & -_PAGE_BYTES
