"""System call numbers by architecture, for the calls that a block has no business with."""

from typing import NamedTuple


class Architecture(NamedTuple):
    """What a filter must know of an architecture."""

    audit: int
    """The kernel's AUDIT_ARCH number."""
    ioctl: int
    """The number of the call that takes `TERMINAL_REQUESTS`."""
    prlimit: int
    """The number of the call that sets the limits of any process of the user's."""
    seccomp: int
    """The number of the call that installs a filter."""
    numbers: dict[str, int]
    foreign_bit: int | None
    """A bit that marks calls of another interface (x32), none where there is no such interface."""


X86_64 = Architecture(
    audit=0xC000003E,
    foreign_bit=0x40000000,
    ioctl=16,
    prlimit=302,
    seccomp=317,
    numbers={
        "socket": 41,
        "connect": 42,
        "accept": 43,
        "bind": 49,
        "listen": 50,
        "socketpair": 53,
        "execve": 59,
        "kill": 62,
        "shmget": 29,
        "semget": 64,
        "msgget": 68,
        "chmod": 90,
        "fchmod": 91,
        "chown": 92,
        "fchown": 93,
        "lchown": 94,
        "ptrace": 101,
        "setpgid": 109,
        "setsid": 112,
        "utime": 132,
        "personality": 135,
        "setpriority": 141,
        "sched_setparam": 142,
        "sched_setscheduler": 144,
        "pivot_root": 155,
        "chroot": 161,
        "acct": 163,
        "mount": 165,
        "umount2": 166,
        "swapon": 167,
        "reboot": 169,
        "init_module": 175,
        "delete_module": 176,
        "quotactl": 179,
        "setxattr": 188,
        "lsetxattr": 189,
        "fsetxattr": 190,
        "tkill": 200,
        "sched_setaffinity": 203,
        "lookup_dcookie": 212,
        "readahead": 187,
        "mincore": 27,
        "fadvise64": 221,
        "preadv2": 327,
        "pwritev2": 328,
        "cachestat": 451,
        "utimes": 235,
        "mq_open": 240,
        "kexec_load": 246,
        "add_key": 248,
        "request_key": 249,
        "keyctl": 250,
        "ioprio_set": 251,
        "fchownat": 260,
        "futimesat": 261,
        "fchmodat": 268,
        "unshare": 272,
        "utimensat": 280,
        "accept4": 288,
        "rt_tgsigqueueinfo": 297,
        "perf_event_open": 298,
        "fanotify_init": 300,
        "open_by_handle_at": 304,
        "setns": 308,
        "process_vm_readv": 310,
        "process_vm_writev": 311,
        "kcmp": 312,
        "finit_module": 313,
        "sched_setattr": 314,
        "memfd_create": 319,
        "kexec_file_load": 320,
        "bpf": 321,
        "execveat": 322,
        "userfaultfd": 323,
        "pidfd_send_signal": 424,
        "io_uring_setup": 425,
        "open_tree": 428,
        "move_mount": 429,
        "fsopen": 430,
        "fsconfig": 431,
        "fsmount": 432,
        "pidfd_getfd": 438,
        "process_madvise": 440,
        "mount_setattr": 442,
        "process_mrelease": 448,
        "fchmodat2": 452,
        "setxattrat": 463,
        "memfd_secret": 447,
        "rt_sigqueueinfo": 129,
        "tgkill": 234,
    },
)

_GENERIC_SAME = {
    name: number
    for name, number in X86_64.numbers.items()
    if number >= 424  # calls added since Linux 5.1 have one number everywhere
}

AARCH64 = Architecture(
    audit=0xC00000B7,
    foreign_bit=None,
    ioctl=29,
    prlimit=261,
    seccomp=277,
    numbers={
        **_GENERIC_SAME,
        "setxattr": 5,
        "lsetxattr": 6,
        "fsetxattr": 7,
        "lookup_dcookie": 18,
        "readahead": 213,
        "mincore": 232,
        "fadvise64": 223,
        "preadv2": 286,
        "pwritev2": 287,
        "ioprio_set": 30,
        "umount2": 39,
        "mount": 40,
        "pivot_root": 41,
        "chroot": 51,
        "fchmod": 52,
        "fchmodat": 53,
        "fchownat": 54,
        "fchown": 55,
        "quotactl": 60,
        "utimensat": 88,
        "acct": 89,
        "personality": 92,
        "unshare": 97,
        "kexec_load": 104,
        "init_module": 105,
        "delete_module": 106,
        "ptrace": 117,
        "sched_setparam": 118,
        "sched_setscheduler": 119,
        "sched_setaffinity": 122,
        "kill": 129,
        "tkill": 130,
        "tgkill": 131,
        "rt_sigqueueinfo": 138,
        "setpriority": 140,
        "reboot": 142,
        "setpgid": 154,
        "setsid": 157,
        "mq_open": 180,
        "msgget": 186,
        "semget": 190,
        "shmget": 194,
        "socket": 198,
        "socketpair": 199,
        "bind": 200,
        "listen": 201,
        "accept": 202,
        "connect": 203,
        "add_key": 217,
        "request_key": 218,
        "keyctl": 219,
        "execve": 221,
        "swapon": 224,
        "rt_tgsigqueueinfo": 240,
        "perf_event_open": 241,
        "accept4": 242,
        "fanotify_init": 262,
        "open_by_handle_at": 265,
        "setns": 268,
        "process_vm_readv": 270,
        "process_vm_writev": 271,
        "kcmp": 272,
        "finit_module": 273,
        "sched_setattr": 274,
        "memfd_create": 279,
        "bpf": 280,
        "execveat": 281,
        "userfaultfd": 282,
        "kexec_file_load": 294,
    },
)

ARCHITECTURES = {"x86_64": X86_64, "aarch64": AARCH64, "arm64": AARCH64}
"""By the name that `os.uname` gives."""

SIGNAL_CALLS = ("kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal")
"""Harmless in a process namespace of the episode's own, denied elsewhere."""

ACCEPT_CALLS = ("accept", "accept4")
SCHEDULER_CALLS = ("sched_setscheduler",)
"""What ZeroMQ's own threads call as they begin, and abort the kernel where it is refused."""
"""A kernel takes its host's connection by these, at the one socket that listens: no block can make another."""

TERMINAL_REQUESTS = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX type into a terminal, as its user would: a worker's terminal is its sandbox's, too."""
