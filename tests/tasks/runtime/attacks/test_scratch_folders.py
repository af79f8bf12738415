"""What a scratch folder must not open: other episodes' files, the host's, mounts, or a way into `/proc`."""

import pytest

from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.runtime.sandbox.level import SandboxUnavailableError
from tests.tasks.runtime.attacks.another_user import told_by_another_user
from tests.tasks.runtime.opened import opener

OPEN_FOLDERS = """
import os, stat
found = []
for descriptor in range(256):
    try: status = os.fstat(descriptor)
    except OSError: continue
    if stat.S_ISDIR(status.st_mode): found.append(descriptor)
found, os.path.exists('/proc/self')
"""
MOUNT = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
calls = (libc.mount(b'tmpfs', b'/tmp', b'tmpfs', 0, None), libc.umount2(b'/tmp', 2), libc.unshare(0x10020000))
calls
"""


def test_block_holds_no_folder_and_sees_no_processes(open_files, contract):
    assert open_files(contract).run_block(OPEN_FOLDERS).result == "([], False)"


def test_block_cannot_mount(open_files, contract):
    assert open_files(contract).run_block(MOUNT).result == "(-1, -1, -1)"


def test_programs_in_the_folder_do_not_run(open_files):
    code = "import os\nopen('run', 'w').write('#!/bin/sh')\nos.execv('run', ['run'])"
    assert open_files("persistent").run_block(code).error.type == "PermissionError"


@pytest.mark.parametrize("level", ["bwrap+seccomp", "landlock+seccomp"])
def test_folder_of_another_episode_is_out_of_reach(level):
    try:
        runtime = open_runtime(RuntimeSpec(sandbox=level, scratch_limit_bytes=1 << 20))
    except SandboxUnavailableError as refusal:
        pytest.skip(str(refusal))
    opened = opener(runtime)
    open_one = next(opened)
    first, second = open_one("persistent"), open_one("persistent")
    path = first.run_block("import os\nopen('secret', 'w').write('s')\nos.path.abspath('secret')").result
    code = f"open({path}).read()"
    refused = second.run_block(code).error
    assert refused is not None
    assert refused.type in ("FileNotFoundError", "PermissionError")
    second.run_block(f"open({path}, 'w').write('forged')")
    assert first.run_block("open('secret').read()").result == "'s'"
    next(opened, None)
    runtime.close()


def test_full_folder_stops_neither_block_nor_rollback(open_files):
    interpreter = open_files("persistent")
    interpreter.run_block("kept = 1")
    fill = "n = 0\ntry:\n    while True:\n        open(f'f{n}', 'w').close()\n        n += 1\nexcept OSError: pass"
    result = interpreter.run_block(fill)
    assert (result.error.type, result.state_event) == ("StateNotKept", "rolled_back")
    assert interpreter.run_block("import os\nos.listdir(), kept").result == "([], 1)"


DEEP = "import os\nfor _ in range(1500):\n    os.mkdir('deep' * 10)\n    os.chdir('deep' * 10)"


def test_deep_folders_do_not_outlive_a_stateless_step(open_files):
    interpreter = open_files("stateless")
    assert interpreter.run_block(DEEP).error is None
    assert interpreter.run_block("import os\nos.listdir('.')").result == "[]"


def test_deep_folders_are_rolled_back(open_files):
    interpreter = open_files("persistent")
    interpreter.run_block("open('kept', 'w').write('k')")
    assert interpreter.run_block(DEEP).state_event == "rolled_back"
    assert interpreter.run_block("import os\nos.listdir('.'), open('kept').read()").result == "(['kept'], 'k')"


def test_worker_without_roots_rights_has_private_files():
    code = "import os\nbefore = os.path.exists('/tmp/x')\ntry: open('/tmp/x', 'w')\nexcept OSError: pass\nbefore"
    told = told_by_another_user("fork_tree", "bwrap+seccomp", code)
    assert told["stateless"] == ["False", "False"]
