"""Fewer mappings and pages for each fork to copy and each exit to take down.

A library is mapped in five parts whose rights differ; a fork copies each and an exit unmaps it, and a Python process
has a score of libraries. Here they become two, what is written and what is not. The rights that parts gain keep nothing
out: a block may map memory with any rights it likes, and the walls stand around the process.
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
        _libc.mprotect(ctypes.c_void_p(span.start), ctypes.c_size_t(span.end - span.start), span.rights)
    with contextlib.suppress(AttributeError):
        _libc.malloc_trim(0)


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
