"""A kernel's process: walls first, then Jupyter, the last wall."""

import os

from ..framing import Channel
from ..walls import confine
from ..zygote import enter, open_channel, separate


def main(descriptor: int) -> None:
    """Confine a process by the first message; serve as a kernel.

    It takes requests at the socket that comes with the message. It is the second process of a namespace of its own, so
    that whatever its blocks forked ends with it. The first one waits for it, and is the parent of all whose own parent
    ends. Both that wait are filtered before any block runs: one that writes to their memory gains nothing.
    """
    channel = open_channel(descriptor)
    settings, (listener, *processes) = channel.receive_with_descriptors()
    settings["processes"] = processes
    seeder = enter(settings)
    is_apart = separate(settings, settings["folder"])
    _stay_until_child_ends(channel, listener, filters_calls=settings["filters_calls"])
    confine.drop_capabilities()
    confine.limit_resources(settings["limits"], has_own_count=is_apart)
    confine.unbuffer_c_output()
    confine.adopt_orphans()
    _stay_until_child_ends(channel, listener, filters_calls=settings["filters_calls"])
    from .kernel import prepare, serve

    kernel = prepare(channel, seeder, settings["key"], listener)
    if settings["filters_calls"]:  # last, as Jupyter's loop and ZeroMQ's threads have sockets to wake each other by
        confine.filter_calls(confine.denied_calls(has_own_process_namespace=is_apart, is_listening=True))
    serve(kernel)


def _stay_until_child_ends(channel: Channel, listener: int, *, filters_calls: bool) -> None:
    """Fork and continue in the child, once the parent is filtered.

    The parent collects orphans and ends with the child.
    """
    waiting, filtered = os.pipe()
    child = os.fork()
    if child:
        channel.close()
        os.close(listener)
        if filters_calls:
            confine.filter_calls(confine.denied_calls(has_own_process_namespace=False))
        os.close(filtered)
        os.close(waiting)
        while os.waitpid(-1, 0)[0] != child:
            pass
        os._exit(0)
    os.close(filtered)
    os.read(waiting, 1)  # nothing comes: it ends when nobody can write any more
    os.close(waiting)
