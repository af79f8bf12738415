"""A training's child process, here a few lines of Python."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from carryover.tasks.services.errors import UserError
from carryover.tasks.sft.child_process import (
    LARGE_BLOCKS,
    USER_ERROR_CODE,
    Child,
    KilledTrainingError,
    describe_failure,
    run_child,
    training_environment,
)

QUICK = 0.01


def _run(folder, code, check=lambda: None):
    looks = []
    child = Child("training x", ("-c", code), folder / "output.txt", os.environ)
    run_child(child, lambda: looks.append(1), check, QUICK)
    return len(looks)


def test_a_child_is_looked_at_once_more_after_its_end(tmp_path):
    assert _run(tmp_path, "print('done')") >= 1
    assert (tmp_path / "output.txt").read_text() == "done\n"


def test_a_killed_child_may_be_tried_again(tmp_path):
    with pytest.raises(KilledTrainingError, match=r"training x failed \(killed by signal 9\): no output"):
        _run(tmp_path, "import os; os.kill(os.getpid(), 9)")


def test_a_user_error_is_told_in_its_own_line(tmp_path):
    code = f"import sys; print('a warning'); print('no such model; name another'); sys.exit({USER_ERROR_CODE})"
    with pytest.raises(UserError, match=r"^no such model; name another$"):
        _run(tmp_path, code)


def test_another_failure_quotes_the_last_words(tmp_path):
    with pytest.raises(
        UserError, match=r"training x failed \(exit code 3\): torn \| down; all of it is in .*output.txt"
    ):
        _run(tmp_path, "print('torn\\ndown'); raise SystemExit(3)")


def describe(folder, text, code):
    (folder / "output.txt").write_text(text)
    said = describe_failure(Child("training x", (), folder / "output.txt", {}), code)
    assert [path.name for path in folder.iterdir()] == ["output.txt"]
    return said


def test_a_failure_is_a_line_with_the_last_five(tmp_path):
    place = f"all of it is in {tmp_path}/output.txt"
    lines = "one\n\ntwo\n  \nthree\nfour\nfive\nsix\n"
    assert describe(tmp_path, lines, 1) == (
        f"training x failed (exit code 1): two | three | four | five | six; {place}"
    )
    assert describe(tmp_path, "\n", USER_ERROR_CODE) == f"training x failed (exit code 2): no output; {place}"
    assert describe(tmp_path, lines, USER_ERROR_CODE) == "six"
    assert describe(tmp_path, lines[:3], -15) == f"training x failed (killed by signal 15): one; {place}"


def test_a_failure_on_a_full_disk_names_the_folder(tmp_path, monkeypatch):
    written = []

    def refuse(path, content):
        written.append(len(content))
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", refuse)
    assert describe(tmp_path, "torn", 1) == (
        f"cannot write {tmp_path}: No space left on device; free space there and start again"
    )
    assert written == [1 << 20]


def test_a_child_ends_with_its_interrupted_caller(tmp_path):
    def interrupt():
        raise KeyboardInterrupt

    code = f"import time; time.sleep(60); open({str(tmp_path / 'alive')!r}, 'w')"
    with pytest.raises(KeyboardInterrupt):
        _run(tmp_path, code, interrupt)
    assert not (tmp_path / "alive").exists()


def test_a_training_sees_its_own_gpu_alone():
    assert training_environment(1, {"CUDA_VISIBLE_DEVICES": "2,3"}, ["3"])["CUDA_VISIBLE_DEVICES"] == "3"
    own = {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "DO_NOT_TRACK": "1"}
    assert training_environment(1, {}, []) == LARGE_BLOCKS | own


def test_a_caller_sets_its_own_allocator():
    variables = {"MALLOC_TRIM_THRESHOLD_": "0"}
    assert training_environment(1, variables, [])["MALLOC_TRIM_THRESHOLD_"] == "0"


_FREED = """
block = b"x" * (24 << 20)
del block  # from here on glibc takes such blocks from its heap
blocks = [b"x" * (24 << 20) for _ in range(8)]
above = b"x" * (100 << 10)
del blocks
print(open("/proc/self/statm").read().split()[1])
"""
"""Prints the resident pages of a process that freed 192 MiB below a block in use."""


def _resident_bytes(variables):
    output = subprocess.check_output([sys.executable, "-c", _FREED], env={"PATH": os.environ["PATH"], **variables})
    return int(output) * os.sysconf("SC_PAGE_SIZE")


def test_a_training_s_process_gives_large_blocks_back():
    assert _resident_bytes(training_environment(1, {}, [])) < _resident_bytes({}) - (100 << 20)
