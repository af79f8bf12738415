"""System calls that a block may not make, or with some arguments only, by architecture."""

from typing import NamedTuple

_DENIED: dict[str, tuple[int, int | None]] = {
    "accept": (43, 202),
    "accept4": (288, 242),
    "acct": (163, 89),
    "add_key": (248, 217),
    "bind": (49, 200),
    "bpf": (321, 280),
    "cachestat": (451, 451),
    "chmod": (90, None),
    "chown": (92, None),
    "chroot": (161, 51),
    "connect": (42, 203),
    "delete_module": (176, 106),
    "execve": (59, 221),
    "execveat": (322, 281),
    "fadvise64": (221, 223),
    "fanotify_init": (300, 262),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "fchown": (93, 55),
    "fchownat": (260, 54),
    "file_setattr": (469, 469),
    "finit_module": (313, 273),
    "flock": (73, 32),
    "fremovexattr": (199, 16),
    "fsconfig": (431, 431),
    "fsetxattr": (190, 7),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "futimesat": (261, None),
    "init_module": (175, 105),
    "inotify_init": (253, None),
    "inotify_init1": (294, 26),
    "io_uring_setup": (425, 425),
    "ioprio_set": (251, 30),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "kill": (62, 129),
    "lchown": (94, None),
    "listen": (50, 201),
    "lookup_dcookie": (212, 18),
    "lremovexattr": (198, 15),
    "lsetxattr": (189, 6),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "mincore": (27, 232),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "mq_open": (240, 180),
    "msgget": (68, 186),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "open_tree_attr": (467, 467),
    "perf_event_open": (298, 241),
    "personality": (135, 92),
    "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424),
    "pivot_root": (155, 41),
    "preadv2": (327, 286),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "pwritev2": (328, 287),
    "quotactl": (179, 60),
    "readahead": (187, 213),
    "reboot": (169, 142),
    "removexattr": (197, 14),
    "removexattrat": (466, 466),
    "request_key": (249, 218),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "semget": (64, 190),
    "setns": (308, 268),
    "setpgid": (109, 154),
    "setpriority": (141, 140),
    "setsid": (112, 157),
    "setxattr": (188, 5),
    "setxattrat": (463, 463),
    "shmget": (29, 194),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "swapon": (167, 224),
    "tgkill": (234, 131),
    "tkill": (200, 130),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
    "utime": (132, None),
    "utimensat": (280, 88),
    "utimes": (235, None),
}
"""Numbers on x86-64 and aarch64, None if an architecture lacks the call."""


class AllowedArguments(NamedTuple):
    """A call whose argument must be one of a list: a command that a later kernel adds is denied."""

    call: int
    position: int
    """Of the argument, from 0."""
    values: tuple[int, ...]


class Architecture(NamedTuple):
    """Constants of an architecture for a filter."""

    audit: int
    """The kernel's AUDIT_ARCH number."""
    prlimit: int
    """The number of the call that sets the limits of any process of the user's."""
    seccomp: int
    """The number of the call that installs a filter."""
    numbers: dict[str, int]
    """Denied calls."""
    allowed: tuple[AllowedArguments, ...]
    foreign_bit: int | None = None
    """A bit that marks calls of another interface (x32)."""


_FCNTL_COMMANDS = (*range(5), *range(8, 12), 1030, 1031, 1032, 1034)
"""Duplicates, flags, the receiver of signals, a pipe's size, seals. Not allowed are locks, leases, notifications and
write hints: they are kept with the inode, where every process that opens the file finds them."""
_IOCTL_REQUESTS = (0x5401, 0x540F, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
"""TCGETS, TIOCGPGRP, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX. Not allowed are flags and versions of inodes
and input to a terminal."""
_MADVISE_ADVICE = (*range(5), 8, 9, 10, 11, *range(13, 20), 22, 23, 24)
"""Not allowed is advice that evicts, merges or collapses pages which other processes share."""


def _allowed(fcntl: int, ioctl: int, madvise: int) -> tuple[AllowedArguments, ...]:
    return (
        AllowedArguments(fcntl, 1, _FCNTL_COMMANDS),
        AllowedArguments(ioctl, 1, _IOCTL_REQUESTS),
        AllowedArguments(madvise, 2, _MADVISE_ADVICE),
    )


X86_64 = Architecture(
    audit=0xC000003E,
    prlimit=302,
    seccomp=317,
    numbers={name: number for name, (number, _) in _DENIED.items()},
    allowed=_allowed(fcntl=72, ioctl=16, madvise=28),
    foreign_bit=0x40000000,
)
AARCH64 = Architecture(
    audit=0xC00000B7,
    prlimit=261,
    seccomp=277,
    numbers={name: number for name, (_, number) in _DENIED.items() if number is not None},
    allowed=_allowed(fcntl=25, ioctl=29, madvise=233),
)
ARCHITECTURES = {"x86_64": X86_64, "aarch64": AARCH64, "arm64": AARCH64}
"""By the name that `os.uname` gives."""

SIGNAL_CALLS = ("kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal")
"""Harmless in a process namespace of the episode's own, denied elsewhere."""
ACCEPT_CALLS = ("accept", "accept4")
"""A kernel takes its host's connection by these, at the one socket that listens: no block can make another."""
SCHEDULER_CALLS = ("sched_setscheduler",)
"""ZeroMQ's threads call it as they begin, and abort the kernel where it is denied."""
