"""The way into a kernel's process: the walls first, then Jupyter."""

import _socket

from . import confine
from .wire import Channel
from .zygote import enter


def main(descriptor: int) -> None:
    """Confine the process as the host's first message says, and serve as a kernel until it is killed."""
    channel = Channel(_socket.socket(fileno=descriptor))
    settings = channel.receive()
    enter(settings)
    is_apart = settings["unshares"] and confine.unshare_user(processes=False)
    confine.drop_capabilities()
    confine.limit_resources(**settings["limits"], has_own_count=is_apart)
    confine.unbuffer_c_output()
    if settings["filters_calls"]:
        denied = confine.denied_calls(has_own_process_namespace=settings["has_own_processes"], needs_sockets=True)
        confine.filter_calls(denied)
    from .kernel import start

    start(channel, settings["connection"])
