"""The file that takes what a block prints."""

import errno
import os
from collections.abc import Iterator

import pytest

from tasks.runtime.output import Output


@pytest.fixture
def output() -> Iterator[Output]:
    output = Output()
    yield output
    output.close()


def refuse(*arguments):
    raise OSError(errno.EMFILE, "Too many open files")


def test_output_stays_whole_where_no_other_file_can_be_made(output, monkeypatch):
    os.write(output.descriptor, b"printed")
    with monkeypatch.context() as patch:
        patch.setattr(os, "memfd_create", refuse)
        with pytest.raises(OSError, match="Too many open files"):
            output.renew()
    assert output.read(100) == "printed"


def test_renewed_output_leaves_nothing_allocated_with_who_holds_the_former_file(output):
    held = os.dup(output.descriptor)
    os.write(held, b"printed")
    output.renew()
    assert os.fstat(held).st_size == 0
    os.close(held)


def test_cleared_output_begins_empty_also_where_the_file_is_new(output):
    os.write(output.renew(), b"of an installation")
    output.clear()
    os.write(output.descriptor, b"of the block")
    assert output.read(100) == "of the block"
