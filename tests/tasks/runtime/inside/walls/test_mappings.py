import resource
import subprocess
import sys

from carryover.tasks.runtime.inside.walls.mappings import Header, Span, huge_part, spans_of

LOADED, READ_ONLY_AFTER_RELOCATION, DYNAMIC = 1, 0x6474E552, 2
READ, EXECUTE, WRITE = 4, 1, 2
BASE = 0x7F0000000000


def header(kind: int, flags: int, address: int, size: int) -> Header:
    return Header(kind=kind, flags=flags, address=address, size=size)


def test_a_library_becomes_what_is_written_and_what_is_not():
    headers = [
        header(LOADED, READ, 0, 0x1234),
        header(LOADED, READ | EXECUTE, 0x2000, 0x3000),
        header(LOADED, READ, 0x5000, 0x10),
        header(LOADED, READ | WRITE, 0x6D00, 0x900),
        header(DYNAMIC, READ | WRITE, 0x6E00, 0x100),
        header(READ_ONLY_AFTER_RELOCATION, READ, 0x6D00, 0x300),
    ]
    assert list(spans_of(BASE, headers)) == [
        Span(BASE, BASE + 0x6000, 1 | 4),
        Span(BASE + 0x6000, BASE + 0x7000, 1 | 2),
    ]


def test_what_lies_between_parts_of_a_library_keeps_its_rights():
    headers = [
        header(LOADED, READ | EXECUTE, 0, 0x1000),
        header(LOADED, READ, 0x10000, 0x1000),
        header(LOADED, READ | WRITE, 0x20000, 0x1000),
    ]
    assert list(spans_of(BASE, headers)) == [
        Span(BASE, BASE + 0x1000, 1 | 4),
        Span(BASE + 0x10000, BASE + 0x11000, 1 | 4),
    ]


def test_the_kernels_own_library_stays_as_it_is():
    assert list(spans_of(BASE, [header(LOADED, READ | EXECUTE, 0, 0x2000)])) == []


def test_only_whole_huge_pages_are_moved():
    huge = resource.getpagesize() ** 2 // 8
    assert huge_part(Span(huge - 5, 4 * huge + 5, 4)) == (huge, 4 * huge, 4)
    assert huge_part(Span(2 * huge, 3 * huge, 4)) == (2 * huge, 3 * huge, 4)
    start, end, _ = huge_part(Span(huge + 5, 3 * huge - 5, 4))
    assert (start, end) == (2 * huge, 2 * huge)
    start, end, _ = huge_part(Span(huge + 5, 2 * huge - 5, 4))
    assert start >= end


def test_a_process_goes_on_with_fewer_mappings():
    program = (
        "from pathlib import Path\n"
        "from carryover.tasks.runtime.inside.walls.mappings import compact\n"
        "count = lambda: len(Path('/proc/self/maps').read_text().splitlines())\n"
        "before = count()\n"
        "compact()\n"
        "import decimal, random\n"
        "assert random.Random(1).random() and decimal.Decimal(2).sqrt()\n"
        "compact()\n"
        "print(before, count())\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    before, after = map(int, ran.stdout.split())
    assert after < before


def test_code_is_the_same_after_it_has_moved():
    program = (
        "import ctypes, hashlib\n"
        "from carryover.tasks.runtime.inside import mappings\n"
        "spans = [span for span in mappings._spans() if not span.rights & 2]\n"
        "digest = lambda: [hashlib.sha256(ctypes.string_at(start, end - start)).digest() for start, end, _ in spans]\n"
        "before = digest()\n"
        "mappings.compact()\n"
        "mappings.compact()\n"
        "assert spans and digest() == before\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_code_stays_where_huge_pages_are_not_to_be_had():
    program = (
        "import json\n"
        "from carryover.tasks.runtime.inside import mappings\n"
        "mappings._COLLAPSE = -1\n"
        "mappings.compact()\n"
        "print(json.dumps('alive'))\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == '"alive"\n'
