"""Decodes blocks' data before the host does, in limited forks.

The host decodes the same sealed bytes with the same code afterwards. Whatever ends, hangs or fills a process does so
here, and the host refuses the value.
"""

import _socket
import contextlib
import importlib
import mmap
import os
import resource
import signal
import tempfile
from typing import NoReturn

from .framing import Channel
from .values import transfer
from .values.portable import NotPortableError
from .values.tree import decode
from .walls import confine
from .zygote import enter, open_channel

_MIB = 1 << 20
_CPU_SECONDS = 5
_STACK_BYTES = 4 * _MIB
"""Half of what the host has: hashing a deep tuple recurses in C."""
_SPARE_BYTES = 32 * _MIB
"""Bytes that libraries allocate on first use."""
_ADDRESS_SPACE_BYTES = 512 * _MIB
"""Bytes that they reserve then: stacks and arenas of threads."""


def main(descriptor: int) -> NoReturn:
    """Decode one value per message of the host, until it ends."""
    channel = open_channel(descriptor)
    settings = channel.receive()
    enter(settings)
    confine.drop_capabilities()
    confine.limit_resources(settings["limits"], has_own_count=False)
    if settings["filters_calls"]:
        confine.filter_calls(confine.denied_calls(has_own_process_namespace=False))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    tempfile.tempdir = "/"  # torch asks for one when it is imported, and none can be written to
    channel.send(("ready", None))
    while True:
        try:
            (size, libraries, limit_bytes), (memory, connection) = channel.receive_with_descriptors()
        except EOFError:
            os._exit(0)
        for library in libraries:
            with contextlib.suppress(ImportError):  # decoding says what is missing
                importlib.import_module(library)
        if os.fork() == 0:
            channel.close()
            _decode(Channel(_socket.socket(fileno=connection)), memory, size, libraries, limit_bytes)
        os.close(memory)
        os.close(connection)


def _decode(channel: Channel, memory: int, size: int, libraries: list[str], limit_bytes: int) -> NoReturn:
    """Decode a value, and answer why the host should not, or nothing."""
    allowed = size + limit_bytes + _SPARE_BYTES
    room = allowed + _ADDRESS_SPACE_BYTES
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    for limit in range(room, max(most, room) + 1, 64 * _MIB):  # the least that leaves room: no file here tells it
        resource.setrlimit(resource.RLIMIT_AS, (min(limit, most), most))
        with contextlib.suppress(OSError):
            mmap.mmap(-1, room).close()
            break
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_STACK, (_STACK_BYTES, resource.getrlimit(resource.RLIMIT_STACK)[1]))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    answer = None
    try:
        decode(transfer.take(memory, size), {}, libraries=libraries, refer=lambda *_parts: object())
    except NotPortableError as error:
        answer = f"{error}"
    except MemoryError:
        answer = f"decoding it takes too much memory; object_limit_bytes is {limit_bytes}, raise it"
    taken = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    if answer is None and taken > allowed:
        answer = f"decoding it takes {taken} bytes of memory; object_limit_bytes is {limit_bytes}, raise it"
    channel.send(answer)
    os._exit(0)
