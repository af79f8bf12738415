"""The way into a kernel's process: the walls first, then Jupyter, and the last wall before it serves."""

import _socket
import os

from . import confine
from .wire import Channel
from .zygote import enter


def main(descriptor: int) -> None:
    """Confine a process as the host's first message says, and let it serve as a kernel until it is killed.

    It takes requests at the socket that comes with the message. It is the second process of a namespace of its own, so
    that whatever its blocks forked ends with it. The first one waits for it, and is the parent of all whose own parent
    ends.
    """
    channel = Channel(_socket.socket(fileno=descriptor))
    settings, (listener,) = channel.receive_with_descriptors()
    seeder = enter(settings)
    is_apart = settings["unshares"] and confine.unshare_user(processes=True)
    _stay_until_child_ends(channel)
    confine.drop_capabilities()
    confine.limit_resources(**settings["limits"], has_own_count=is_apart)
    confine.unbuffer_c_output()
    confine.adopt_orphans()
    _stay_until_child_ends(channel)
    from .kernel import prepare, serve

    app = prepare(channel, seeder, settings["connection"], listener)
    if settings["filters_calls"]:  # last, as Jupyter's threads were given sockets to wake each other by
        confine.filter_calls(confine.denied_calls(has_own_process_namespace=is_apart, is_listening=True))
    serve(app)


def _stay_until_child_ends(channel: Channel) -> None:
    """Fork and go on in the child; the parent waits for it, collects orphans meanwhile, and ends."""
    child = os.fork()
    if child:
        channel.close()
        while os.waitpid(-1, 0)[0] != child:
            pass
        os._exit(0)
