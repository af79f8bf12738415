"""Channels through which state could survive a stateless step: none does.

Each channel is written by one block and probed by the next. The same pair under the persistent contract shows that
the probe can see the state at all.
"""
# ruff: noqa: E501 - one channel to a line

from typing import NamedTuple

import pytest


class Channel(NamedTuple):
    write: str
    probe: str
    """An expression that is true when the state has survived."""
    is_open_to_persistent: bool = True
    """Whether a persistent interpreter keeps it; no where the sandbox or the runtime closes it for both."""


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
    "temporary file": Channel(
        "import os\nfor d in ('/tmp', '/dev/shm', '/', '/var/tmp'):\n"
        "    try: open(d + '/kept', 'w').write('1')\n    except OSError: pass",
        "any(__import__('os').path.exists(d + '/kept') for d in ('/tmp', '/dev/shm', '', '/var/tmp'))",
        is_open_to_persistent=False,
    ),
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
    "output history": Channel("41 + 1", "'Out' in globals() or '_' in globals()", is_open_to_persistent=False),
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
}  # fmt: skip

HELPERS = """
import os

def _is_open(descriptor):
    try: os.fstat(descriptor)
    except OSError: return False
    return True

def _is_there(seconds):
    import resource
    for process in range(2, 1000):
        try:
            if resource.prlimit(process, resource.RLIMIT_CPU)[0] == seconds: return True
        except OSError: pass
    return False
"""


def survives(interpreter, channel: Channel) -> bool:
    written = interpreter.run_block(channel.write)
    assert written.error is None, written.error
    probed = interpreter.run_block(f"{HELPERS}\n{channel.probe}")
    assert probed.result in ("True", "False"), probed
    return probed.result == "True"


@pytest.mark.parametrize("name", CHANNELS)
def test_nothing_survives_a_stateless_step(open_one, name):
    assert not survives(open_one("stateless", {"look": lambda: 1}), CHANNELS[name])


@pytest.mark.parametrize("name", [name for name, channel in CHANNELS.items() if channel.is_open_to_persistent])
def test_probe_sees_what_a_persistent_interpreter_keeps(open_fork_tree, name):
    assert survives(open_fork_tree("persistent", {"look": lambda: 1}), CHANNELS[name])


def test_process_of_a_stateless_step_cannot_reach_the_next_one(open_fork_tree):
    interpreter = open_fork_tree("stateless")
    interpreter.run_block(
        "import os, signal, time\nif os.fork() == 0:\n    while True:\n        try: os.kill(-1, signal.SIGTERM)\n        except OSError: pass\n"
    )
    for _ in range(3):
        assert interpreter.run_block("import time; time.sleep(0.05); 'untouched'").result == "'untouched'"
