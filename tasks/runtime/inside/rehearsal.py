"""What interpreters do for the first time, done once before the first of them is forked.

A fork shares memory until one side writes, and an interpreter writes most when it does something for the first time:
it fills the caches of types, specialises bytecode, grows its heap. What the zygote has done, no fork does again.
"""

import _signal  # pyright: ignore[reportMissingImports] - what `signal` adds is enumerations
import _socket
import contextlib
import linecache
import os
import sys
from collections.abc import Iterator

from .capture import redirect_output
from .errors import file_of_step
from .framing import Channel
from .node import Node
from .seeding import Seeder

_ROUNDS = 12
"""Bytecode is specialised when it has run eight times."""
_STEP, _SEED = 0, "0" * 64
_TOOL = "look"
_ANSWERS = ('["a", "b", "c"]', *['{"class": "A", "value": 1, "weight": 2}'] * 3)
_BLOCKS = (
    "x = 1",
    "import json, math\nids = json.loads(look())\nrows = [json.loads(look(name)) for name in ids]\n"
    'print(rows, sum(row["value"] for row in rows), f"{len(ids):.2f} {math.sqrt(4)}")',
    "def best(rows, key=None):\n    total = 0\n    for row in rows:\n        if row:\n            total += row\n"
    "    return total\ntable = {'a': 1, **{'b': 2}}\nbest(sorted(table.values(), key=lambda value: -value))",
    "while x < 3:\n    x += 1\ntry:\n    missing\nexcept NameError as error:\n    print(error)\nmissing",
    "x = (",
)
"""What agents write: a call or more, a table, a loop, a mistake."""


def rehearse(seeder: Seeder) -> None:
    """Go through episodes of our own, with answers that were written beforehand; leave nothing that a block could see.

    The same process plays the root that forks, the process that it forks, and the one that freezes itself.
    """
    with _silence(), _undone():
        ours, theirs = _socket.socketpair()
        host, node = Channel(ours), Node(Channel(theirs), seeder)
        node.runner.add_tools({_TOOL: None})
        for _ in range(_ROUNDS):
            node.is_root = True
            _fork(host, node, is_sweep=True)
            host.close()
            ours, theirs = _socket.socketpair()
            host = Channel(ours)
            node.take_over(theirs.detach())
            for source in _BLOCKS:
                _run(host, node, source)
            _fork(host, node, is_sweep=False)
        node.channel.close()
        host.close()


def _fork(host: Channel, node: Node, *, is_sweep: bool) -> None:
    """Let the node fork a process, which ends with its connection."""
    unused, theirs = _socket.socketpair()
    host.send(("fork", is_sweep, []), (theirs.fileno(),))
    rehearsing = os.getpid()
    node.serve_one()
    if os.getpid() != rehearsing:
        unused.close()
        node.serve()
    _, (handle,) = host.receive_with_descriptors()
    for descriptor in (handle, unused.detach(), theirs.detach()):
        os.close(descriptor)


def _run(host: Channel, node: Node, source: str) -> None:
    """Let the node run a block, and answer its calls."""
    host.send(("run", _STEP, _SEED, source))
    for ticket, answer in enumerate(_ANSWERS if _TOOL in source else (), start=node.runner.line.ticket + 1):
        host.send((ticket, ("value", answer)))
    node.serve_one()
    while host.receive()[0] != "done":
        pass


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Send what is printed nowhere."""
    kept = os.dup(1), os.dup(2)
    redirect_output(os.open("/dev/null", os.O_WRONLY))
    try:
        yield
    finally:
        for descriptor, place in zip(kept, (1, 2), strict=True):
            os.dup2(descriptor, place)
            os.close(descriptor)


@contextlib.contextmanager
def _undone() -> Iterator[None]:
    """Put back what a step runner changes in its process."""
    streams = sys.stdout, sys.stderr
    ended_children = _signal.getsignal(_signal.SIGCHLD)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams
        _signal.signal(_signal.SIGINT, _signal.default_int_handler)
        _signal.signal(_signal.SIGCHLD, ended_children)
        linecache.cache.pop(file_of_step(_STEP), None)
