"""The worker's zygote: a clean interpreter, forked for every episode.

It is never a fork of the worker, whose memory holds the hidden items. It runs no block and reads from its host only.
"""

import _signal  # pyright: ignore[reportMissingImports] - what `signal` adds is enumerations
import _socket
import gc
import importlib
import os
import sys
from typing import Any, NoReturn

from . import adapting, shared
from .capture import empty_input, redirect_output
from .folder import FILE_COUNT_LIMIT
from .framing import Channel
from .node import Server
from .seeding import Seeder
from .walls import confine, mounting

_WARM_UP_RUNS = 10
"""Python 3.11 specialises bytecode that has run eight times; else each fork copies 57 more pages, of 430."""


def main(descriptor: int) -> NoReturn:
    """Prepare by the host's first message; fork roots for episodes."""
    channel = open_channel(descriptor)
    settings, processes = channel.receive_with_descriptors()
    settings["processes"] = processes
    seeder = enter(settings)
    confine.adopt_orphans()
    confine.unbuffer_c_output()
    for is_apart in (True, False):
        confine.prepare_filter(confine.denied_calls(has_own_process_namespace=is_apart))
    root = Server(channel, seeder)  # made once: what a fork does not do, it does not write to its memory
    _warm_up(root)
    _signal.signal(_signal.SIGCHLD, _signal.SIG_IGN)  # the kernel reaps the roots: nobody waits for them here
    confine.return_free_memory()
    gc.freeze()  # a collection writes to the heads of all objects, and would copy the pages that forks share
    channel.send(("ready", {"pid": os.getpid()}))
    while True:
        try:
            setup, descriptors = channel.receive_with_descriptors()
        except EOFError:
            os._exit(0)
        if os.fork() == 0:
            channel.close()
            _open_episode(setup, settings, root, *descriptors)
        for unused in descriptors:
            os.close(unused)


def _warm_up(root: Server) -> None:
    """Warm the caches once, in memory that every fork shares."""
    root.channel = Channel(_socket.socketpair()[0])
    for _ in range(_WARM_UP_RUNS):
        ours, theirs = _socket.socketpair()
        root.become_root()
        root.take_over(theirs.detach(), (os.dup(2),))
        Channel(ours).send(("run", 0, "0", "x = 1\nx"))
        root.serve_one()
        ours.close()
    root.runner.forget(None)
    root.channel.close()
    root.become_root()


def open_channel(descriptor: int) -> Channel:
    """Return the host's channel at a low descriptor number.

    The given one tells how many files the host has open.

    Left there, it could also be where blocks' output is kept, which a block may close.
    """
    lowest = os.dup(descriptor)
    os.close(descriptor)
    return Channel(_socket.socket(fileno=lowest))


def enter(settings: dict[str, Any]) -> Seeder:
    """Give up root, load modules, close off files.

    Every process of the sandbox begins with this.
    """
    if settings["user"] is not None:
        confine.become_user(settings["user"])
    sys.path.extend(settings["path"])
    seeder = Seeder()
    adapting.install()
    shared.track()
    for module in settings["preload"]:
        importlib.import_module(module)
    if settings["landlock"]:
        confine.restrict_files(**settings["landlock"], written=settings["scratch"])
    return seeder


def separate(settings: dict[str, Any], folder: dict[str, Any] | None) -> bool:
    """Move to own namespaces with any scratch folder, if allowed.

    The settings hold a descriptor of the host's `/proc` where the folder is a file system of the episode's own.
    """
    if folder is None or not folder["is_mounted"]:
        return settings["unshares"] and confine.unshare_user(processes=True)
    (processes,) = settings["processes"]
    mounting.unshare_with_mounts(processes)
    mounting.mount_scratch(folder["path"], folder["limit_bytes"], FILE_COUNT_LIMIT)
    os.close(processes)
    return True


def _open_episode(
    setup: dict[str, Any],
    settings: dict[str, Any],
    root: Server,
    connection: int,
    output: int,
) -> NoReturn:
    """Fork the episode's root as a namespace's first process; end."""
    _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
    channel = Channel(_socket.socket(fileno=connection))
    is_apart = separate(settings, setup["folder"])
    process = os.fork()
    if process:
        handle = os.pidfd_open(process)
        channel.send(("forked", (None, None), False, 1, True), (handle,))
        os._exit(0)
    empty_input()
    redirect_output(output)
    os.setpgid(0, 0)
    confine.adopt_orphans()
    confine.drop_capabilities(kept=confine.MARK_OF_ROOT if is_apart else 0)
    confine.limit_resources(settings["limits"], has_own_count=is_apart)
    if settings["landlock"] and setup["folder"] is not None:  # no folder of another episode
        confine.restrict_files(**settings["landlock"], written=[setup["folder"]["path"]])
    if settings["filters_calls"]:
        confine.filter_calls(confine.denied_calls(has_own_process_namespace=is_apart))
    root.grow(channel, setup["tools"], setup["folder"])
    os._exit(0)
