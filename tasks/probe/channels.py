"""Channels of state, each with a write and a later block's look."""
# ruff: noqa: E501 - one channel to a line

import re
from typing import NamedTuple


class Channel(NamedTuple):
    """A way by which state could survive a block."""

    write: str
    probe: str
    """Code whose last expression is true when the state has survived."""
    is_open_to_persistent: bool = True
    """Whether a persistent interpreter keeps it."""
    plain: str = ""
    """The same look for an interpreter without `globals`."""
    binds: str = ""
    """Name that the write binds: a look that misses it finds the state lost."""
    remnant: str = ""
    """Look for an older value in the state's place."""
    undo: str = ""
    """Code that removes state from outside the interpreter."""


CHANNELS = {
    "global": Channel("x = TOKEN", "globals().get('x') == TOKEN", plain="x == TOKEN", binds="x", remnant="x is not None"),
    "import": Channel("import math as kept_math", "'kept_math' in globals()", plain="kept_math.pi > 3", binds="kept_math"),
    "function": Channel("def f(): pass", "'f' in globals()", plain="f is not None", binds="f"),
    "class": Channel("class C: pass", "'C' in globals()", plain="C is not None", binds="C"),
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
        "import tempfile; open(f'{tempfile.gettempdir()}/kept-{TOKEN}', 'w').close()",
        "__import__('os').path.exists(f\"{__import__('tempfile').gettempdir()}/kept-{TOKEN}\")",
        undo="import os, tempfile; os.remove(f'{tempfile.gettempdir()}/kept-{TOKEN}')",
    ),
    "thread": Channel(
        "import threading, time; threading.Thread(target=time.sleep, args=(60,), name='kept', daemon=True).start()",
        "any(t.name == 'kept' for t in __import__('threading').enumerate())",
    ),
    "descriptor": Channel("import os; os.dup2(0, 77)", "_is_open(77)"),
    "decimal context": Channel("import decimal; decimal.getcontext().prec = 5", "__import__('decimal').getcontext().prec == 5"),
    "recursion limit": Channel("import sys; sys.setrecursionlimit(3777)", "__import__('sys').getrecursionlimit() == 3777"),
    "logging": Channel("import logging; logging.getLogger('k').setLevel(7)", "__import__('logging').getLogger('k').level == 7"),
    "signal handler": Channel(
        "import signal; signal.signal(signal.SIGUSR1, signal.SIG_IGN)",
        "__import__('signal').getsignal(__import__('signal').SIGUSR1) == __import__('signal').SIG_IGN",
    ),
    "garbage collector": Channel("import gc; gc.disable(); gc.callbacks.append(print) or gc.callbacks.pop()", "not __import__('gc').isenabled()"),
    "last value": Channel("41 + 1", "globals().get('_') == 42"),
    "event loop": Channel(
        "import asyncio\nawait asyncio.sleep(0)\nloop = asyncio.get_event_loop()\nloop.kept = 1",
        "import asyncio\nawait asyncio.sleep(0)\nhasattr(asyncio.get_event_loop(), 'kept')",
    ),
    "numpy random state": Channel(
        "import numpy; numpy.random.seed(1); first = numpy.random.rand()",
        "'numpy' in __import__('sys').modules and __import__('numpy').random.rand() == 0.7203244934421581",
        is_open_to_persistent=False,
    ),
    "import path": Channel("import sys; sys.path.append('/kept')", "'/kept' in __import__('sys').path"),
    "import hook": Channel(
        "import sys\nclass Hook:\n    kept = True\n    find_spec = staticmethod(lambda *_: None)\nsys.meta_path.append(Hook)",
        "any(hasattr(hook, 'kept') for hook in __import__('sys').meta_path)",
    ),
    "forked process": Channel(
        "import os, resource, signal, time\nready, mark = os.pipe()\nif os.fork() == 0:\n"
        "    signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "    resource.setrlimit(resource.RLIMIT_CPU, (TOKEN, TOKEN)); os.write(mark, b'x'); time.sleep(30); os._exit(0)\n"
        "seen = os.read(ready, 1)",
        "_is_there(TOKEN)",
    ),
    "cached source": Channel("import linecache; linecache.cache['kept'] = (1, None, ['x'], 'kept')", "'kept' in __import__('linecache').cache"),
    "resource limit": Channel(
        "import resource; resource.setrlimit(resource.RLIMIT_CPU, (1 << 40, 1 << 40))",
        "__import__('resource').getrlimit(__import__('resource').RLIMIT_CPU)[0] == 1 << 40",
    ),
    "umask": Channel("import os; os.umask(0o123)", "__import__('os').umask(0o22) == 0o123"),
    "warning filters": Channel("import warnings; warnings.filterwarnings('error', 'kept')", "any('kept' in str(f) for f in __import__('warnings').filters)"),
    "trace function": Channel("import sys; sys.setswitchinterval(0.25)", "__import__('sys').getswitchinterval() == 0.25"),
    "exit handler": Channel("import atexit; n = atexit._ncallbacks(); atexit.register(int)", "__import__('atexit')._ncallbacks() > 0 and 'n' in globals()"),
    "locale": Channel("import locale; locale.setlocale(locale.LC_ALL, 'C')", "__import__('locale').setlocale(__import__('locale').LC_ALL) == 'C'"),
    "type attribute": Channel("import json; json.JSONEncoder.kept = 1", "hasattr(__import__('json').JSONEncoder, 'kept')"),
}  # fmt: skip
"""Harmless ones: a runtime that shares its caller's process can be probed by them."""

PROBED = {
    "installed package": Channel(
        "import sysconfig; open(f\"{sysconfig.get_path('purelib')}/kept_{TOKEN}.py\", 'w').close()",
        "import importlib.util\nimportlib.invalidate_caches()\nimportlib.util.find_spec(f'kept_{TOKEN}') is not None",
        undo="import os, sysconfig; os.remove(f\"{sysconfig.get_path('purelib')}/kept_{TOKEN}.py\")",
    ),
    "figure": Channel(
        "import matplotlib; matplotlib.use('agg'); import matplotlib.pyplot; matplotlib.pyplot.figure(TOKEN); drawn = 1",
        "'matplotlib.pyplot' in __import__('sys').modules and __import__('sys').modules['matplotlib.pyplot'].fignum_exists(TOKEN)",
    ),
} | CHANNELS  # fmt: skip
"""All that a probe plants: the first ones take libraries, or write into the interpreter's environment.

matplotlib is imported before a channel sets the umask, under which it cannot write its folder.
"""

HELPERS = """
import os, resource

def _is_open(descriptor):
    try: os.fstat(descriptor)
    except OSError: return False
    return True

def _is_there(seconds):
    try: seen = [int(name) for name in os.listdir('/proc') if name.isdigit()]
    except OSError: seen = []
    for process in {*range(2, 1000), *seen} - {os.getpid()}:
        try:
            if resource.prlimit(process, resource.RLIMIT_CPU)[0] == seconds: return not _is_dead(process)
        except OSError: pass
    return False

def _is_dead(process):
    try: state = open(f'/proc/{process}/stat').read().rpartition(')')[2].split()[0]
    except OSError: return False
    return state == 'Z'
"""
"""Functions that some looks call."""
_IMPORTED = re.compile(r"__import__\('([\w.]+)'\)")
TOKENS = range(10**6, 10**9)
"""Numbers that tell one run's files and processes from another's; below the processor limit that a channel sets."""


def simpler(channel: Channel) -> Channel:
    """Return a channel whose look needs neither `globals` nor `__import__`."""
    if channel.plain:
        return channel._replace(probe=channel.plain)
    modules = dict.fromkeys(_IMPORTED.findall(channel.probe))
    imports = "".join(f"import {module}\n" for module in modules)
    return channel._replace(probe=imports + _IMPORTED.sub(r"\1", channel.probe))


def setup(channel: Channel, token: int) -> str:
    """Return the lines that the channel's code needs before it."""
    helpers = HELPERS if "_is_" in channel.probe else ""
    return f"TOKEN = {token}\n{helpers}"
