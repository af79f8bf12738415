"""What a read-only descriptor can change of an inode: a later step or another episode would find it there.

Every change is tried at every level, by a worker that is root and by one that owns its Python without being root.
"""

import ast
import statistics
from pathlib import Path

import pytest

from carryover.tasks.runtime.contract import CONTRACTS
from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.runtime.sandbox.level import LEVELS, SandboxUnavailableError, reach_level
from carryover.tasks.runtime.session import session
from tests.tasks.runtime.attacks.another_user import told_by_another_user

CHANGES = """
import ctypes, fcntl, json, mmap, os, struct
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *arguments):
    if getattr(libc, name)(*arguments) < 0: raise OSError(ctypes.get_errno(), name)
library = os.open(json.__file__, os.O_RDONLY)
folder = os.open(os.path.dirname(json.__file__), os.O_RDONLY)
device = os.open("/dev/null", os.O_RDONLY)
memory = mmap.mmap(library, 0, prot=mmap.PROT_READ, flags=mmap.MAP_PRIVATE)
hint = struct.pack("Q", 2)
number, attributes = struct.pack("l", 1), struct.pack("IIIII8x", 0x80, 0, 0, 0, 0)
changes = {
    "write hint": lambda: fcntl.fcntl(library, 1036, hint),
    "write hint of the open file": lambda: fcntl.fcntl(library, 1038, hint),
    "write hint of a device": lambda: fcntl.fcntl(device, 1036, hint),
    "lease": lambda: fcntl.fcntl(library, fcntl.F_SETLEASE, fcntl.F_RDLCK),
    "delegation": lambda: fcntl.fcntl(library, 1040, struct.pack("IHH", 0, 0, 0)),
    "notification": lambda: fcntl.fcntl(folder, fcntl.F_NOTIFY, fcntl.DN_ACCESS),
    "watch": lambda: call("inotify_init1", 0),
    "flags": lambda: fcntl.ioctl(library, 0x40086602, number),
    "version": lambda: fcntl.ioctl(library, 0x40087602, number),
    "attributes": lambda: fcntl.ioctl(library, 0x401C5820, attributes),
    "verity": lambda: fcntl.ioctl(library, 0x40806685, bytes(128)),
    "extended attribute": lambda: os.setxattr(library, "user.kept", b"1"),
    "removed attribute": lambda: os.removexattr(library, "user.kept"),
    "mode": lambda: os.fchmod(library, 0o644),
    "owner": lambda: os.fchown(library, -1, os.getgid()),
    "times": lambda: os.utime(library, (4711, 4711)),
    "evicted pages": lambda: memory.madvise(21),
}
passed = []
for name, change in changes.items():
    try: change()
    except PermissionError: continue
    except OSError: pass
    passed.append(name)
passed
"""
"""Only a refusal counts: what fails for another reason on this file system may pass on another."""


LOCKS = """
import fcntl, os, statistics, struct
library = os.open(statistics.__file__, os.O_RDONLY)
lock = struct.pack("hhqqi4x", fcntl.F_RDLCK, 0, 0, 1, 0)
fcntl.fcntl(library, fcntl.F_SETLK, lock)
fcntl.fcntl(library, 37, lock)
fcntl.flock(library, fcntl.LOCK_EX | fcntl.LOCK_NB)
fcntl.lockf(library, fcntl.LOCK_SH)
"""


OWN_FILE = """
import json, os, tempfile
json.__file__ = os.path.join(tempfile.mkdtemp(), "own")
with open(json.__file__, "w") as file: file.write("x")
"""
"""In a folder of its own: a notification that is taken ends the process as soon as anyone reads in the folder."""


def skip_unless_reached(level):
    try:
        reach_level(level)
    except SandboxUnavailableError as refusal:
        pytest.skip(str(refusal))


@pytest.mark.parametrize("level", LEVELS[:-1])
def test_no_inode_is_changed_through_a_read_only_descriptor(level):
    skip_unless_reached(level)
    runtime = open_runtime(RuntimeSpec(sandbox=level))
    interpreter = runtime.open_interpreter(CONTRACTS["stateless"], {}, instance_id="a")
    result = interpreter.run_block(CHANGES)
    interpreter.close()
    runtime.close()
    assert result.result == "[]"


def locks_of(path):
    inode = f":{Path(path).stat().st_ino} "
    return [line for line in Path("/proc/locks").read_text(encoding="ascii").splitlines() if inode in line]


@pytest.mark.parametrize("level", LEVELS)
def test_lock_of_a_file_is_answered_and_stands_nowhere(level):
    skip_unless_reached(level)
    with session("persistent", spec=RuntimeSpec(sandbox=level)) as opened:
        assert opened.run(LOCKS).error is None
        assert bool(locks_of(statistics.__file__)) == (level == "none")


@pytest.mark.parametrize("backend", ["fork_tree", pytest.param("jupyter", marks=pytest.mark.kernel)])
@pytest.mark.parametrize("level", LEVELS[:-1])
def test_user_who_owns_the_libraries_changes_no_inode(level, backend):
    skip_unless_reached(level)
    assert told_by_another_user(backend, level, CHANGES) == dict.fromkeys(CONTRACTS, ["[]"] * 2)


def test_changes_are_seen_where_no_wall_stands():
    told = told_by_another_user("fork_tree", "none", OWN_FILE + CHANGES)
    for results in told.values():
        assert {"write hint", "lease", "watch"} <= set(ast.literal_eval(results[0]))
