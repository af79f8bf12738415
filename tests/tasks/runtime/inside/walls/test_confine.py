import struct

import pytest

from carryover.tasks.runtime.inside.walls.confine import denied_calls, filter_program
from carryover.tasks.runtime.inside.walls.syscalls import AARCH64, X86_64

ALLOW, DENY, KILL, PRETEND = 0x7FFF0000, 0x00050001, 0x80000000, 0x00050000

HEADERS: dict[str, tuple[int, int | None]] = {
    "accept": (43, 202),
    "accept4": (288, 242),
    "acct": (163, 89),
    "add_key": (248, 217),
    "bind": (49, 200),
    "bpf": (321, 280),
    "chmod": (90, None),
    "chown": (92, None),
    "chroot": (161, 51),
    "connect": (42, 203),
    "delete_module": (176, 106),
    "execve": (59, 221),
    "execveat": (322, 281),
    "cachestat": (451, 451),
    "fadvise64": (221, 223),
    "fanotify_init": (300, 262),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "fchown": (93, 55),
    "fchownat": (260, 54),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsetxattr": (190, 7),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "futimesat": (261, None),
    "file_setattr": (469, 469),
    "fremovexattr": (199, 16),
    "inotify_init": (253, None),
    "inotify_init1": (294, 26),
    "lremovexattr": (198, 15),
    "open_tree_attr": (467, 467),
    "removexattr": (197, 14),
    "removexattrat": (466, 466),
    "init_module": (175, 105),
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
    "lsetxattr": (189, 6),
    "memfd_create": (319, 279),
    "mincore": (27, 232),
    "preadv2": (327, 286),
    "pwritev2": (328, 287),
    "readahead": (187, 213),
    "memfd_secret": (447, 447),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "mq_open": (240, 180),
    "msgget": (68, 186),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "personality": (135, 92),
    "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424),
    "pivot_root": (155, 41),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "reboot": (169, 142),
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
"""From asm/unistd_64.h (x86-64) and asm-generic/unistd.h (aarch64) of linux-libc-dev 6.1.187; fchmodat2: 6.6,
setxattrat and removexattrat: 6.13, open_tree_attr: 6.15, file_setattr: 6.17. None where an architecture lacks
the call."""


def verdict(program: bytes, architecture: int, number: int, *arguments: int) -> int:
    """Interpret a filter as the kernel does."""
    instructions = list(struct.iter_unpack("<HBBI", program))
    call = struct.pack("<iIQ6Q", number, architecture, 0, *arguments, *[0] * (6 - len(arguments)))
    position, accumulator = 0, 0
    while True:
        code, if_true, if_false, constant = instructions[position]
        position += 1
        match code:
            case 0x20:
                (accumulator,) = struct.unpack_from("<I", call, constant)
            case 0x15:
                position += if_true if accumulator == constant else if_false
            case 0x05:
                position += constant
            case 0x35:
                position += if_true if accumulator >= constant else if_false
            case 0x06:
                return constant


LISTED = (
    (X86_64, {"fcntl": 72, "ioctl": 16, "madvise": 28, "flock": 73}),
    (AARCH64, {"fcntl": 25, "ioctl": 29, "madvise": 233, "flock": 32}),
)
"""Calls whose arguments are allowed by list."""
NO_ARGUMENT = (0, 9999, 9999)


@pytest.mark.parametrize(("architecture", "listed"), LISTED)
def test_filter_denies_what_it_names_and_allows_the_rest(architecture, listed):
    program = filter_program(architecture, architecture.numbers)
    denied = {*architecture.numbers.values(), *listed.values()}
    for number in range(500):
        expected = DENY if number in denied else ALLOW
        assert verdict(program, architecture.audit, number, *NO_ARGUMENT) == expected


@pytest.mark.parametrize(("architecture", "listed"), LISTED)
@pytest.mark.parametrize(
    ("call", "allowed", "denied"),
    [
        ("ioctl", {"TIOCGWINSZ": 0x5413}, {"TIOCSTI": 0x5412, "TIOCLINUX": 0x541C, "SETFLAGS": 0x40086602}),
        ("fcntl", {"F_GETFL": 3, "F_DUPFD_CLOEXEC": 1030}, {"F_GETLK": 5, "F_SETLEASE": 1024, "SET_RW_HINT": 1036}),
        ("madvise", {"DONTNEED": 4, "HUGEPAGE": 14}, {"COLD": 20, "PAGEOUT": 21, "HWPOISON": 100}),
    ],
)
def test_arguments_are_allowed_by_list(architecture, listed, call, allowed, denied):
    program = filter_program(architecture, architecture.numbers)
    number, index = listed[call], 2 if call == "madvise" else 1
    upper_half = 1 << 32  # which the kernel ignores
    for expected, values in ((ALLOW, allowed.values()), (DENY, denied.values())):
        for value in values:
            for given in (value, value | upper_half):
                assert verdict(program, architecture.audit, number, *[0] * index, given) == expected


@pytest.mark.parametrize(("architecture", "listed"), LISTED)
@pytest.mark.parametrize(("call", "commands"), [("fcntl", (6, 7, 37, 38)), ("flock", (1, 2, 5, 6, 8))])
def test_locks_are_answered_and_not_set(architecture, listed, call, commands):
    program = filter_program(architecture, architecture.numbers)
    for command in commands:
        assert verdict(program, architecture.audit, listed[call], 0, command) == PRETEND


@pytest.mark.parametrize(("architecture", "prlimit"), [(X86_64, 302), (AARCH64, 261)])
def test_process_sets_limits_of_its_own_only(architecture, prlimit):
    program = filter_program(architecture, architecture.numbers)
    own, other, processor_time, null, low_pointer, high_pointer = 0, 1, 0, 0, 0x1000, 0x7F00_0000_0000
    for pointer in (low_pointer, high_pointer, low_pointer | high_pointer):
        assert verdict(program, architecture.audit, prlimit, own, processor_time, pointer) == ALLOW
        assert verdict(program, architecture.audit, prlimit, other, processor_time, pointer) == DENY
    assert verdict(program, architecture.audit, prlimit, other, processor_time, null, low_pointer) == ALLOW


@pytest.mark.parametrize(("architecture", "foreign"), [(X86_64, AARCH64), (AARCH64, X86_64)])
def test_calls_of_another_architecture_kill(architecture, foreign):
    assert verdict(filter_program(architecture, ()), foreign.audit, 1) == KILL


def test_calls_of_the_x32_interface_kill():
    assert verdict(filter_program(X86_64, ()), X86_64.audit, 0x40000000 + 41) == KILL


def test_numbers_are_those_of_the_kernels_headers():
    assert X86_64.numbers == {name: number for name, (number, _) in HEADERS.items()}
    assert AARCH64.numbers == {name: number for name, (_, number) in HEADERS.items() if number is not None}
    assert (X86_64.seccomp, AARCH64.seccomp) == (317, 277)


def test_signals_are_denied_where_processes_are_shared():
    assert "kill" in denied_calls(has_own_process_namespace=False)
    assert "kill" not in denied_calls(has_own_process_namespace=True)


def test_kernel_that_listens_accepts_and_makes_no_socket():
    denied = set(denied_calls(has_own_process_namespace=True))
    served = set(denied_calls(has_own_process_namespace=True, is_listening=True))
    assert denied - served == {"accept", "accept4", "sched_setscheduler"}  # ZeroMQ's threads abort without the last one
    assert denied >= {"socket", "socketpair", "bind", "listen", "connect", "accept", "accept4"}
