"""The file that takes what a block prints."""

import contextlib
import errno
import json
import os
from collections.abc import Iterator

import pytest

from carryover.tasks.runtime.contract import CONTRACTS
from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.runtime.output import Output
from carryover.tasks.runtime.runtime_spec import RuntimeSpec


@pytest.fixture
def output() -> Iterator[Output]:
    output = Output()
    yield output
    output.close()


LIST_OPEN_DESCRIPTORS = """
import os

def is_open(number):
    try:
        return bool(os.fstat(number))
    except OSError:
        return False

[number for number in range(200) if is_open(number)]
"""


def refuse(*arguments):
    raise OSError(errno.EMFILE, "Too many open files")


def test_output_stays_whole_where_no_other_file_can_be_made(output, monkeypatch):
    os.write(output.descriptor, b"printed")
    with monkeypatch.context() as patch:
        patch.setattr(os, "memfd_create", refuse)
        with pytest.raises(OSError, match="Too many open files"):
            output.renew()
    assert output.read(100) == "printed"


def test_renewed_output_frees_what_the_former_file_held(output):
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


@pytest.mark.parametrize("backend", ["fork_tree", pytest.param("jupyter", marks=pytest.mark.kernel)])
def test_blocks_descriptors_tell_nothing_of_the_hosts_open_files(backend):
    with contextlib.ExitStack() as host:
        for _ in range(100):
            host.callback(os.close, os.open(os.devnull, os.O_RDONLY))
        runtime = open_runtime(RuntimeSpec(backend=backend))
        host.callback(runtime.close)
        interpreter = host.enter_context(
            contextlib.closing(runtime.open_interpreter(CONTRACTS["persistent"], {}, instance_id="instance"))
        )
        numbers = interpreter.run_block(LIST_OPEN_DESCRIPTORS).result
    assert numbers is not None
    assert json.loads(numbers)[-1] == 63
