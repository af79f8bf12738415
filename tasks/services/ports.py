"""Owners of TCP ports, from Linux's `/proc`.

As a program it ends with a line about the process that listens on a port, or with status 0 for a free one.
"""

import pwd
import sys
from pathlib import Path
from typing import NamedTuple

LISTENING = "0A"
"""The kernel's state of a socket that accepts connections."""


class _Listener(NamedTuple):
    user_id: int
    inode: str


def port_owner(port: int) -> str | None:
    """Return who listens on a port of this machine, in words.

    None if nobody does.

    The process is named where this user may look at it, the user in any case.
    """
    listener = _find_listener(port)
    if listener is None:
        return None
    user = _user_name(listener.user_id)
    process = _find_process(f"socket:[{listener.inode}]")
    if process is None:
        return f"a process of the user {user}"
    words = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    return f"process {process.name} of the user {user} ({words})"


def _find_listener(port: int) -> _Listener | None:
    for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        lines = []
        if table.exists():
            lines = table.read_text(encoding="ascii").splitlines()
        for line in lines[1:]:
            fields = line.split()
            address = fields[1]
            state = fields[3]
            if state == LISTENING and int(address.rpartition(":")[2], 16) == port:
                return _Listener(user_id=int(fields[7]), inode=fields[9])
    return None


def _find_process(socket: str) -> Path | None:
    """Return the `/proc` folder of a socket's holder, if visible."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if any(str(descriptor.readlink()) == socket for descriptor in (process / "fd").iterdir()):
                return process
        except OSError:  # of another user, or ended meanwhile
            continue
    return None


def _user_name(user_id: int) -> str:
    try:
        return pwd.getpwuid(user_id).pw_name
    except KeyError:
        return str(user_id)


if __name__ == "__main__":
    if owner := port_owner(int(sys.argv[1])):
        sys.exit(f"carryover: port {sys.argv[1]} is taken by {owner}")
