"""System calls that a block may not make, by architecture."""

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


class Architecture(NamedTuple):
    """Constants of an architecture for a filter."""

    audit: int
    """The kernel's AUDIT_ARCH number."""
    prlimit: int
    """The number of the call that sets the limits of any process of the user's."""
    seccomp: int
    """The number of the call that installs a filter."""
    listed: tuple[int, ...]
    """The numbers of the calls in `LISTED_ARGUMENTS`."""
    numbers: dict[str, int]
    """Denied calls."""
    foreign_bit: int | None = None
    """A bit that marks calls of another interface (x32)."""


class ListedArguments(NamedTuple):
    """Values that one argument of a call may have: a command that a later kernel adds is denied."""

    position: int
    """From 0."""
    allowed: tuple[int, ...]
    pretended: tuple[int, ...] = ()
    """With these the call does nothing, and returns that it has."""


_CLOCKS = tuple(range(12))
_LOCKS = (6, 7, 37, 38)
_FLOCKS = (1, 2, 5, 6, 8, 12)
LISTED_ARGUMENTS = (
    # fcntl: duplicates, flags, the receiver of signals, a pipe's size, seals. Not allowed are leases, notifications and
    # write hints: they are kept with the inode, where every process that opens the file finds them. So are locks, but
    # databases of files need an answer to theirs.
    ListedArguments(1, (*range(5), *range(8, 12), 1030, 1031, 1032, 1034), pretended=_LOCKS),
    # ioctl: TCGETS, TIOCGPGRP, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX. Not allowed are flags and versions of
    # inodes and input to a terminal.
    ListedArguments(1, (0x5401, 0x540F, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)),
    # madvise: not allowed is advice that evicts, merges or collapses pages which other processes share.
    ListedArguments(2, (*range(5), 8, 9, 10, 11, *range(13, 20), 22, 23, 24)),
    # clocks: those of the system, and the caller's own processor time. The others count what another process has spent,
    # which for a template process is how many steps it has forked.
    ListedArguments(0, _CLOCKS),
    ListedArguments(0, _CLOCKS),
    ListedArguments(0, _CLOCKS),
    # flock: LOCK_SH, LOCK_EX and LOCK_UN, with and without LOCK_NB.
    ListedArguments(1, (), pretended=_FLOCKS),
)
"""For the calls of `Architecture.listed`, in its order."""

X86_64 = Architecture(
    audit=0xC000003E,
    prlimit=302,
    seccomp=317,
    # fcntl, ioctl, madvise, clock_gettime, clock_nanosleep, timer_create, flock
    listed=(72, 16, 28, 228, 230, 222, 73),
    numbers={name: number for name, (number, _) in _DENIED.items()},
    foreign_bit=0x40000000,
)
AARCH64 = Architecture(
    audit=0xC00000B7,
    prlimit=261,
    seccomp=277,
    listed=(25, 29, 233, 113, 115, 107, 32),  # in the same order
    numbers={name: number for name, (_, number) in _DENIED.items() if number is not None},
)
ARCHITECTURES = {"x86_64": X86_64, "aarch64": AARCH64, "arm64": AARCH64}
"""By the name that `os.uname` gives."""

SIGNAL_CALLS = ("kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal")
"""Harmless in a process namespace of the episode's own, denied elsewhere."""
KERNEL_CALLS = ("accept", "accept4", "sched_setscheduler")
"""A kernel takes its host's connection by the first two, at the one socket that listens: no block can make another.
ZeroMQ's threads call the last one as they begin, and abort the kernel where it is denied."""
