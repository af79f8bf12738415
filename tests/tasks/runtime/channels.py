"""What one block writes and a later one may find: channels through which state could survive.

Those that any runtime can be probed by stand in `tasks/probe`; here are the ones that only a sandbox closes.
"""
# ruff: noqa: E501 - one channel to a line

import os

from carryover.tasks.probe import channels as probed
from carryover.tasks.probe.channels import Channel
from carryover.tasks.runtime.runtime_spec import SandboxLevel

CHANNELS = probed.CHANNELS | {
    "temporary file": Channel("_leave_files()", "_are_files_left()", is_open_to_persistent=False),
    "tool attribute": Channel("look.kept = 1", "hasattr(look, 'kept')"),
    "output history": Channel("41 + 1", "'Out' in globals()", is_open_to_persistent=False),
    "canary of the runtime": Channel("globals()['__canary__'] = 'mine'", "'__canary__' in globals()", is_open_to_persistent=False),
    "own output": Channel("print('kept')", "__import__('os').pread(1, 9, 0) != b''", is_open_to_persistent=False),
    "attributes of the output": Channel(
        "import fcntl, os\nfcntl.fcntl(1, fcntl.F_SETSIG, 40)\ntry: os.setxattr(1, 'user.kept', b'1')\nexcept OSError: pass",
        "__import__('fcntl').fcntl(1, 10 + 1) == 40 or 'user.kept' in os.listxattr(1)",  # F_GETSIG
    ),
    "flags of the output": Channel("import fcntl, os; fcntl.fcntl(1, fcntl.F_SETFL, os.O_APPEND)", "bool(__import__('fcntl').fcntl(1, 3) & os.O_APPEND)"),
    "flags of the input": Channel("import fcntl, os; fcntl.fcntl(0, fcntl.F_SETFL, os.O_APPEND)", "bool(__import__('fcntl').fcntl(0, 3) & os.O_APPEND)"),
    "page cache": Channel("_evict_page()", "_is_page_evicted()", is_open_to_persistent=False),
    "limits of another process": Channel(
        "_try_on_others(lambda process: resource.prlimit(process, resource.RLIMIT_CPU, (4714, 4714)))",
        "resource.getrlimit(resource.RLIMIT_CPU)[0] == 4714",
        is_open_to_persistent=False,
    ),
    "priority of another process": Channel(
        "_try_on_others(lambda process: os.setpriority(os.PRIO_PROCESS, process, 13))",
        "os.getpriority(os.PRIO_PROCESS, 0) == 13",
        is_open_to_persistent=False,
    ),
    "priority of the process group": Channel(
        "try: os.setpriority(os.PRIO_PGRP, 0, 13)\nexcept OSError: pass",
        "os.getpriority(os.PRIO_PROCESS, 0) == 13",
        is_open_to_persistent=False,
    ),
    "scheduling of another process": Channel(
        "_try_on_others(lambda process: os.sched_setscheduler(process, os.SCHED_BATCH, os.sched_param(0)))\n"
        "_try_on_others(lambda process: os.sched_setaffinity(process, {min(os.sched_getaffinity(0))}))",
        "os.sched_getscheduler(0) == os.SCHED_BATCH or len(os.sched_getaffinity(0)) < PROCESSORS",
        is_open_to_persistent=False,
    ),
}  # fmt: skip

HELD_BACK_FROM: dict[str, SandboxLevel] = {"temporary file": "landlock+seccomp", "page cache": "seccomp"}
"""Level from which on a channel is closed; for the others a fresh interpreter is all that it takes."""

HELPERS = (
    f"TOKEN = {probed.TOKENS.start + os.getpid()}\n{probed.HELPERS}"
    + """
def _others(): return {*range(1, 100), os.getppid()} - {0, os.getpid()}

def _try_on_others(change):
    for process in _others():
        try: change(process)
        except OSError: pass
"""
)

FILES = """
def _folders(root='/'):
    import os, tempfile
    yield from ('/tmp', '/var/tmp', '/dev/shm', '/run', os.getcwd(), os.path.expanduser('~'), *tempfile._candidate_tempdir_list())
    for folder, inner, _ in os.walk(root):
        yield folder
        if folder.count('/') > root.count('/') + 1: inner.clear()

def _leave_files(folders=None):
    import os, tempfile, uuid
    for folder in folders or _folders():
        for make in (
            lambda: os.close(os.open(os.path.join(folder, 'kept'), os.O_CREAT | os.O_WRONLY)),
            lambda: os.close(os.open(os.path.join(folder, 'kept-' + uuid.uuid4().hex), os.O_CREAT | os.O_WRONLY)),
            lambda: os.close(tempfile.mkstemp(prefix='kept', dir=folder)[0]),
            lambda: tempfile.mkdtemp(prefix='kept', dir=folder),
            lambda: os.symlink('/kept', os.path.join(folder, 'kept-link')),
        ):
            try: make()
            except OSError: pass

def _are_files_left(folders=None):
    import os
    for folder in folders or _folders():
        try:
            if any(name.startswith('kept') for name in os.listdir(folder)): return True
        except OSError: pass
    return False
"""
"""A file in every folder that a block finds, under a name that is fixed and under generated ones."""


PAGES = """
import json.tool, os

def _evict_page(path=json.tool.__file__):
    descriptor = os.open(path, os.O_RDONLY)
    try: os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    except OSError: pass
    os.close(descriptor)

def _is_page_evicted(path=json.tool.__file__):
    descriptor = os.open(path, os.O_RDONLY)
    try: os.preadv(descriptor, [bytearray(1)], 0, os.RWF_NOWAIT)
    except BlockingIOError: return True
    except OSError: return False
    finally: os.close(descriptor)
    return False
"""
"""A library's file, one bit to a page: whether the kernel holds it in memory."""


def processors() -> str:
    """Return the line that tells a probe how many processors the machine has for it."""
    return f"PROCESSORS = {len(os.sched_getaffinity(0))}\n"
