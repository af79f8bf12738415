"""Landlock: this process and its children read the given directories, and reach no other file."""

import ctypes
import os
import struct

_libc = ctypes.CDLL(None, use_errno=True)
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG = 1
_RULE_PATH_BENEATH = 1
_READ_FILE, _READ_DIRECTORY, _WRITE_FILE = 1 << 2, 1 << 3, 1 << 1
_FILE_RIGHTS_BY_VERSION = {1: 13, 2: 14, 3: 15, 4: 15}
_FILE_RIGHTS_LATEST = 16
_NETWORK_RIGHTS = 3
_SCOPES = 3
_PR_SET_NO_NEW_PRIVS = 38


def landlock_version() -> int:
    """The kernel's Landlock version; 0 or less where there is none."""
    return _libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION_FLAG)


def restrict_files(readable: list[str]) -> None:
    """Restrict this process to reading `readable` and the harmless devices, without TCP; raise `OSError` if refused."""
    version = landlock_version()
    files = (1 << _FILE_RIGHTS_BY_VERSION.get(version, _FILE_RIGHTS_LATEST)) - 1
    attributes = struct.pack("<QQQ", files, _NETWORK_RIGHTS if version >= 4 else 0, _SCOPES if version >= 6 else 0)
    size = 8 if version < 4 else 16 if version < 6 else 24
    ruleset = _checked(_libc.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(size), 0))
    for path in readable:
        _allow(ruleset, path, _READ_FILE | _READ_DIRECTORY)
    for device in ("/dev/null", "/dev/zero"):
        _allow(ruleset, device, _READ_FILE | _WRITE_FILE)
    for device in ("/dev/random", "/dev/urandom"):
        _allow(ruleset, device, _READ_FILE)
    _checked(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    _checked(_libc.syscall(_RESTRICT_SELF, ruleset, 0))
    os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        target = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    rights &= ~_READ_DIRECTORY if not os.path.isdir(path) else -1  # noqa: PTH112 - pathlib stays out of the sandbox
    rule = struct.pack("<Qi", rights, target)
    _checked(_libc.syscall(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, rule, 0))
    os.close(target)


def _checked(status: int) -> int:
    if status < 0:
        raise OSError(ctypes.get_errno(), f"landlock: {os.strerror(ctypes.get_errno())}")
    return status
