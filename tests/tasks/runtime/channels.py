"""What one block writes and a later one may find: channels through which state could survive."""
# ruff: noqa: E501 - one channel to a line

import os
from typing import NamedTuple

from carryover.tasks.runtime.runtime_spec import SandboxLevel


class Channel(NamedTuple):
    write: str
    probe: str
    """An expression that is true when the state has survived."""
    is_open_to_persistent: bool = True
    """Whether a persistent interpreter keeps it; no where the sandbox or the runtime closes it for both."""
    held_back_from: SandboxLevel = "none"
    """Level from which on it is closed; at `none` a fresh interpreter is all that it takes."""


CHANNELS = {
    "global": Channel("x = 1", "'x' in globals()"),
    "definition": Channel("def f(): pass\nclass C: pass", "'f' in globals() or 'C' in globals()"),
    "module attribute": Channel("import math; math.kept = 1", "hasattr(__import__('math'), 'kept')"),
    "module cache": Channel("import sys; sys.modules['kept'] = sys", "'kept' in __import__('sys').modules"),
    "patched builtin": Channel("import builtins; builtins.kept = 1", "hasattr(__import__('builtins'), 'kept')"),
    "random state": Channel(
        "import random; random.seed(1); first = random.random()",
        "__import__('random').random() == 0.8474337369372327",
        is_open_to_persistent=False,
    ),
    "working directory": Channel("import os; os.chdir('/usr')", "__import__('os').getcwd() == '/usr'"),
    "environment": Channel("import os; os.environ['KEPT'] = '1'", "'KEPT' in __import__('os').environ"),
    "temporary file": Channel("_leave_files()", "_are_files_left()", is_open_to_persistent=False, held_back_from="landlock+seccomp"),
    "thread": Channel(
        "import threading, time; threading.Thread(target=time.sleep, args=(60,), name='kept', daemon=True).start()",
        "any(t.name == 'kept' for t in __import__('threading').enumerate())",
    ),
    "descriptor": Channel(
        "import os; os.dup2(0, 77)", "_is_open(77)"
    ),
    "decimal context": Channel("import decimal; decimal.getcontext().prec = 5", "__import__('decimal').getcontext().prec == 5"),
    "recursion limit": Channel("import sys; sys.setrecursionlimit(777)", "__import__('sys').getrecursionlimit() == 777"),
    "logging": Channel("import logging; logging.getLogger('k').setLevel(7)", "__import__('logging').getLogger('k').level == 7"),
    "signal handler": Channel(
        "import signal; signal.signal(signal.SIGUSR1, signal.SIG_IGN)",
        "__import__('signal').getsignal(__import__('signal').SIGUSR1) == __import__('signal').SIG_IGN",
    ),
    "tool attribute": Channel("look.kept = 1", "hasattr(look, 'kept')"),
    "garbage collector": Channel("import gc; gc.disable(); gc.callbacks.append(print) or gc.callbacks.pop()", "not __import__('gc').isenabled()"),
    "output history": Channel("41 + 1", "'Out' in globals()", is_open_to_persistent=False),
    "last value": Channel("41 + 1", "globals().get('_') == 42"),
    "event loop": Channel(
        "import asyncio\nawait asyncio.sleep(0)\nloop = asyncio.get_event_loop()\nloop.kept = 1",
        "import asyncio\nawait asyncio.sleep(0)\nhasattr(asyncio.get_event_loop(), 'kept')",
    ),
    "numpy random state": Channel(
        "import numpy; numpy.random.seed(1); first = numpy.random.rand()",
        "__import__('numpy').random.rand() == 0.7203244934421581",
        is_open_to_persistent=False,
    ),
    "import path": Channel("import sys; sys.path.append('/kept')", "'/kept' in __import__('sys').path"),
    "import hook": Channel("import sys; sys.meta_path.append('kept')", "'kept' in __import__('sys').meta_path"),
    # Beyond the 21.
    "forked process": Channel(
        "import os, resource, time\nready, mark = os.pipe()\nif os.fork() == 0:\n"
        "    resource.setrlimit(resource.RLIMIT_CPU, (4711, 4711)); os.write(mark, b'x'); time.sleep(60); os._exit(0)\n"
        "seen = os.read(ready, 1)",
        "_is_there(4711)",
    ),
    "cached source": Channel("import linecache; linecache.cache['kept'] = (1, None, ['x'], 'kept')", "'kept' in __import__('linecache').cache"),
    "resource limit": Channel(
        "import resource; resource.setrlimit(resource.RLIMIT_CPU, (5555, 5555))",
        "__import__('resource').getrlimit(__import__('resource').RLIMIT_CPU)[0] == 5555",
    ),
    "umask": Channel("import os; os.umask(0o123)", "__import__('os').umask(0o22) == 0o123"),
    "warning filters": Channel("import warnings; warnings.filterwarnings('error', 'kept')", "any('kept' in str(f) for f in __import__('warnings').filters)"),
    "trace function": Channel("import sys; sys.setswitchinterval(0.25)", "__import__('sys').getswitchinterval() == 0.25"),
    "exit handler": Channel("import atexit; n = atexit._ncallbacks(); atexit.register(print)", "__import__('atexit')._ncallbacks() > 0 and 'n' in globals()"),
    "locale": Channel("import locale; locale.setlocale(locale.LC_ALL, 'C')", "__import__('locale').setlocale(__import__('locale').LC_ALL) == 'C'"),
    "canary of the runtime": Channel("globals()['__canary__'] = 'mine'", "'__canary__' in globals()", is_open_to_persistent=False),
    "type attribute": Channel("import json; json.JSONEncoder.kept = 1", "hasattr(json.JSONEncoder, 'kept')"),
    "own output": Channel("print('kept')", "__import__('os').pread(1, 9, 0) != b''", is_open_to_persistent=False),
    "attributes of the output": Channel(
        "import fcntl, os\nfcntl.fcntl(1, fcntl.F_SETSIG, 40)\ntry: os.setxattr(1, 'user.kept', b'1')\nexcept OSError: pass",
        "__import__('fcntl').fcntl(1, 10 + 1) == 40 or 'user.kept' in os.listxattr(1)",  # F_GETSIG
    ),
    "flags of the output": Channel("import fcntl, os; fcntl.fcntl(1, fcntl.F_SETFL, os.O_APPEND)", "bool(__import__('fcntl').fcntl(1, 3) & os.O_APPEND)"),
    "flags of the input": Channel("import fcntl, os; fcntl.fcntl(0, fcntl.F_SETFL, os.O_APPEND)", "bool(__import__('fcntl').fcntl(0, 3) & os.O_APPEND)"),
    "page cache": Channel("_evict_page()", "_is_page_evicted()", is_open_to_persistent=False, held_back_from="seccomp"),
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

HELPERS = """
import os, resource

def _is_open(descriptor):
    try: os.fstat(descriptor)
    except OSError: return False
    return True

def _is_there(seconds):
    for process in range(2, 1000):
        try:
            if resource.prlimit(process, resource.RLIMIT_CPU)[0] == seconds: return True
        except OSError: pass
    return False

def _others(): return {*range(1, 100), os.getppid()} - {0, os.getpid()}

def _try_on_others(change):
    for process in _others():
        try: change(process)
        except OSError: pass
"""

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
