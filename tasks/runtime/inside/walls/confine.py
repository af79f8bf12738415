"""A process's own walls: limits, dropped rights, Landlock, seccomp.

Everything goes through ctypes: a bare sandbox has no libseccomp.
"""

import contextlib
import ctypes
import errno
import functools
import os
import resource
import struct
from collections.abc import Iterable

from .syscalls import ARCHITECTURES, KERNEL_CALLS, LISTED_ARGUMENTS, SIGNAL_CALLS, Architecture, ListedArguments

_libc = ctypes.CDLL(None, use_errno=True)

_PR_SET_NO_NEW_PRIVS = 38
_PR_SET_CHILD_SUBREAPER = 36
_PR_CAPBSET_DROP = 24
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4
_SECCOMP_SET_FILTER = 1
_SECCOMP_EVERY_THREAD = 1
_LANDLOCK_CREATE = 444
_LANDLOCK_ADD_RULE = 445
_LANDLOCK_RESTRICT = 446
_LANDLOCK_VERSION_FLAG = 1
_LANDLOCK_PATH_BENEATH = 1
_EXECUTE = 1
_WRITE_FILE = 1 << 1
_READ_FILE = 1 << 2
_READ_DIRECTORY = 1 << 3
_FILE_RIGHTS_BY_VERSION = {1: 13, 2: 14, 3: 15, 4: 15}
_FILE_RIGHTS_LATEST = 16
_NETWORK_RIGHTS = 3
_SCOPES = 3
_CLONE_NEWNS = 0x00020000
_CLONE_NEWUSER = 0x10000000
_CLONE_NEWPID = 0x20000000
_CLONE_NEWNET = 0x40000000
_CLONE_NEWIPC = 0x08000000
_CAPABILITY_VERSION_3 = 0x20080522
_CAPABILITY_WORD_BITS = 32
_CAPABILITY_WORDS = 2
_OWN_CAPABILITIES = struct.pack("<Ii", _CAPABILITY_VERSION_3, 0)

# Opcodes of classic BPF and the actions of seccomp.
_LOAD = 0x20
_JUMP = 0x05
_JUMP_EQUAL = 0x15
_JUMP_AT_LEAST = 0x35
_RETURN = 0x06
_ALLOW = 0x7FFF0000
_KILL_PROCESS = 0x80000000
_PRETEND = 0x00050000
_FAIL = _PRETEND | errno.EPERM
_OFFSET_OF_NUMBER = 0
_OFFSET_OF_ARCHITECTURE = 4
_OFFSET_OF_ARGUMENTS = 16
_ARGUMENT_BYTES = 8
_UPPER_HALF = 4

MARK_OF_ROOT = 1 << 35
"""CAP_WAKE_ALARM: harmless, but Linux lets no process write to the memory of one that has a capability more."""

_Instruction = tuple[int, int, int, int]
"""Operation, jump if true, jump if false, constant."""
_LIMITS_CHECK: list[_Instruction] = [
    (_LOAD, 0, 0, _OFFSET_OF_ARGUMENTS),  # process: 0 is the caller
    (_JUMP_EQUAL, 4, 0, 0),
    (_LOAD, 0, 0, _OFFSET_OF_ARGUMENTS + 2 * _ARGUMENT_BYTES),  # new limits: null only asks for the present ones
    (_JUMP_EQUAL, 0, 3, 0),
    (_LOAD, 0, 0, _OFFSET_OF_ARGUMENTS + 2 * _ARGUMENT_BYTES + _UPPER_HALF),
    (_JUMP_EQUAL, 0, 1, 0),
    (_RETURN, 0, 0, _ALLOW),
    (_RETURN, 0, 0, _FAIL),
]


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


@functools.cache
def denied_calls(*, has_own_process_namespace: bool, is_listening: bool = False) -> tuple[str, ...]:
    """Name the system calls that a block may not make, sorted."""
    allowed = (*(SIGNAL_CALLS if has_own_process_namespace else ()), *(KERNEL_CALLS if is_listening else ()))
    return tuple(sorted(_architecture().numbers.keys() - allowed))


def filter_program(architecture: Architecture, denied: Iterable[str]) -> bytes:
    """Assemble the filter's program.

    A foreign architecture kills the process; a denied call or argument fails with EPERM, and locks do nothing.

    So does a call that would set another process's limits: what is forked from that one next would have them.
    """
    numbers = sorted(architecture.numbers[name] for name in denied)
    program = [
        (_LOAD, 0, 0, _OFFSET_OF_ARCHITECTURE),
        (_JUMP_EQUAL, 1, 0, architecture.audit),
        (_RETURN, 0, 0, _KILL_PROCESS),
        (_LOAD, 0, 0, _OFFSET_OF_NUMBER),
    ]
    if architecture.foreign_bit is not None:
        program += [(_JUMP_AT_LEAST, 0, 1, architecture.foreign_bit), (_RETURN, 0, 0, _KILL_PROCESS)]
    program += [(_JUMP_EQUAL, len(numbers) - index, 0, number) for index, number in enumerate(numbers)]
    program += [(_JUMP, 0, 0, 1), (_RETURN, 0, 0, _FAIL)]
    checks = [_LIMITS_CHECK, *map(_argument_check, LISTED_ARGUMENTS)]
    for call, check in zip((architecture.prlimit, *architecture.listed), checks, strict=True):
        program += [(_JUMP_EQUAL, 0, len(check), call), *check]
    program.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in program)


def _argument_check(listed: ListedArguments) -> list[_Instruction]:
    """Fail for an argument off the list, and pretend for some.

    The kernel reads its lower half only.
    """
    values = (*listed.allowed, *listed.pretended)
    to_fail = len(values)
    to_pretend = to_fail + 1
    to_allow = to_fail + 2
    program: list[_Instruction] = [(_LOAD, 0, 0, _OFFSET_OF_ARGUMENTS + _ARGUMENT_BYTES * listed.position)]
    for index, value in enumerate(values):
        target = to_allow if index < len(listed.allowed) else to_pretend
        program.append((_JUMP_EQUAL, target - index - 1, 0, value))
    return [*program, (_RETURN, 0, 0, _FAIL), (_RETURN, 0, 0, _PRETEND), (_RETURN, 0, 0, _ALLOW)]


def filter_calls(denied: tuple[str, ...]) -> None:
    """Install the filter in this process and its forks, for ever."""
    loaded = prepare_filter(denied)
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    call = _architecture().seccomp
    status = _libc.syscall(call, _SECCOMP_SET_FILTER, _SECCOMP_EVERY_THREAD, ctypes.byref(loaded))
    if status > 0:
        raise OSError(f"seccomp: thread {status} cannot take the filter over, as it has another one")
    _check(status, "seccomp")


@functools.cache
def prepare_filter(denied: tuple[str, ...]) -> ctypes.Structure:
    """Assemble the filter in the kernel's form, once.

    Forks then find it made.
    """
    program = filter_program(_architecture(), denied)
    code = ctypes.create_string_buffer(program)
    return _Program(len(program) // 8, ctypes.cast(code, ctypes.c_void_p))


def landlock_version() -> int:
    """The kernel's Landlock version; 0 or less where there is none."""
    return _libc.syscall(_LANDLOCK_CREATE, None, ctypes.c_size_t(0), _LANDLOCK_VERSION_FLAG)


def restrict_files(*, read: list[str], listed: list[str], written: list[str]) -> None:
    """Restrict this process to some files and no TCP.

    Each path stands for all that lies below it; of a listed folder only names can be read. Harmless devices stay.
    Raise `OSError` if refused.
    """
    version = landlock_version()
    files = (1 << _FILE_RIGHTS_BY_VERSION.get(version, _FILE_RIGHTS_LATEST)) - 1
    network = 0
    scopes = 0
    size = 8  # of the fields that this version knows: it refuses others
    if version >= 4:
        network = _NETWORK_RIGHTS
        size = 16
    if version >= 6:
        scopes = _SCOPES
        size = 24
    attributes = struct.pack("<QQQ", files, network, scopes)
    ruleset = _check(_libc.syscall(_LANDLOCK_CREATE, attributes, ctypes.c_size_t(size), 0), "landlock")
    rights = dict.fromkeys(listed, _READ_DIRECTORY)
    rights |= dict.fromkeys(read, _READ_FILE | _READ_DIRECTORY)
    rights |= dict.fromkeys(written, files & ~_EXECUTE)
    rights |= dict.fromkeys(("/dev/null", "/dev/zero"), _READ_FILE | _WRITE_FILE)
    rights |= dict.fromkeys(("/dev/random", "/dev/urandom"), _READ_FILE)
    for path, allowed in rights.items():
        try:
            target = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        is_directory = os.path.isdir(path)  # noqa: PTH112 - pathlib stays out of the sandbox
        rule = struct.pack("<Qi", allowed if is_directory else allowed & ~_READ_DIRECTORY, target)
        _check(_libc.syscall(_LANDLOCK_ADD_RULE, ruleset, _LANDLOCK_PATH_BENEATH, rule, 0), "landlock")
        os.close(target)
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    _check(_libc.syscall(_LANDLOCK_RESTRICT, ruleset, 0), "landlock")
    os.close(ruleset)


def limit_resources(limits: dict[str, int], *, has_own_count: bool) -> None:
    """Set hard limits by `resource` names; processes if counted apart."""
    for name, value in limits.items():
        if name != "RLIMIT_NPROC" or has_own_count:
            resource.setrlimit(getattr(resource, name), (value, value))


def become_user(user: int) -> None:
    """Give up root for good.

    The files of the sandbox must be readable for all.
    """
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


def unshare_user(*, processes: bool, mounts: bool = False) -> bool:
    """Move to an own user namespace; return whether that is allowed.

    Processes are counted apart there, which makes the process limit one per episode. With `processes` the next child
    becomes the first of a process namespace.
    """
    wanted = _CLONE_NEWUSER | _CLONE_NEWNET | _CLONE_NEWIPC
    wanted |= _CLONE_NEWPID if processes else 0
    wanted |= _CLONE_NEWNS if mounts else 0
    return _libc.unshare(wanted) == 0


def drop_capabilities(kept: int = 0) -> None:
    """Clear capabilities outside a mask, and let programs gain none."""
    for capability in range(_CAPABILITY_WORDS * _CAPABILITY_WORD_BITS):
        if _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            break
    _libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    low = kept & 0xFFFFFFFF
    high = kept >> _CAPABILITY_WORD_BITS
    set_capabilities(struct.pack("<6I", low, low, 0, high, high, 0))


def set_capabilities(sets: bytes = bytes(24)) -> None:
    """Keep only these capabilities, for good; none by default.

    Effective, permitted and inheritable, for each word.
    """
    _check(_libc.capset(_OWN_CAPABILITIES, sets), "capset")


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def unbuffer_c_output() -> None:
    """Make C's `stdout` write at once.

    What C code printed before a kill is kept.
    """
    stream = ctypes.c_void_p.in_dll(_libc, "stdout")
    unbuffered = 2
    _libc.setvbuf(stream, None, unbuffered, 0)


def return_free_memory() -> None:
    """Return freed memory to the system: forks then copy fewer pages."""
    with contextlib.suppress(AttributeError):  # glibc only
        _libc.malloc_trim(0)


def _architecture() -> Architecture:
    machine = os.uname().machine
    if machine not in ARCHITECTURES:
        raise OSError(f"no system call table for {machine!r}; there is one for {', '.join(ARCHITECTURES)}")
    return ARCHITECTURES[machine]


def _prctl(option: int, value: int) -> None:
    _check(_libc.prctl(option, value, 0, 0, 0), f"prctl {option}")


def _check(status: int, what: str) -> int:
    if status < 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")
    return status
