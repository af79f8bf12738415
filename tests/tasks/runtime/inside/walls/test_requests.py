"""What a process asks of the kernel for its walls, asked of one that only takes notes."""

import ctypes
import os
import resource
import struct
from types import SimpleNamespace
from typing import Any

import pytest

from carryover.tasks.runtime.inside.walls import confine, mounting
from carryover.tasks.runtime.inside.walls.syscalls import ARCHITECTURES


class Kernel:
    """Notes each call, with the bytes of what it is given; answers with what is left to answer, then with 0."""

    def __init__(self, *answers: int) -> None:
        self.asked: list[tuple[Any, ...]] = []
        self.answers = list(answers)

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any) -> int:
            plain = [one.value if isinstance(one, ctypes._SimpleCData) else one for one in arguments]
            self.asked.append((name, *plain))
            return self.answers.pop(0) if self.answers else 0

        return call


@pytest.fixture
def kernel(monkeypatch) -> Kernel:
    taking = Kernel()
    monkeypatch.setattr(confine, "_libc", taking)
    monkeypatch.setattr(mounting, "_libc", taking)
    monkeypatch.setattr(ctypes, "get_errno", lambda: 1)
    return taking


FILES = (1 << 16) - 1
RULES_OF = {
    1: (struct.pack("<QQQ", (1 << 13) - 1, 0, 0), 8),
    2: (struct.pack("<QQQ", (1 << 14) - 1, 0, 0), 8),
    3: (struct.pack("<QQQ", (1 << 15) - 1, 0, 0), 8),
    4: (struct.pack("<QQQ", (1 << 15) - 1, 3, 0), 16),
    5: (struct.pack("<QQQ", FILES, 3, 0), 16),
    6: (struct.pack("<QQQ", FILES, 3, 3), 24),
    7: (struct.pack("<QQQ", FILES, 3, 3), 24),
}


@pytest.mark.parametrize("version", RULES_OF)
def test_landlock_restricts_what_its_version_knows(kernel, version):
    ruleset = os.open("/dev/null", os.O_RDONLY)
    kernel.answers = [version, ruleset]
    confine.restrict_files(read=[], listed=[], written=[])
    assert kernel.asked[:2] == [("syscall", 444, None, 0, 1), ("syscall", 444, *RULES_OF[version], 0)]
    assert kernel.asked[-2:] == [("prctl", 38, 1, 0, 0, 0), ("syscall", 446, ruleset, 0)]
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(ruleset)


def test_landlock_allows_each_path_its_own(kernel, tmp_path, monkeypatch):
    paths = {name: tmp_path / name for name in ("read", "listed", "written", "file")}
    for path in paths.values():
        path.mkdir() if path.name != "file" else path.write_text("")
    opened: dict[int, str] = {}
    real = os.open

    def open_noted(path: str, flags: int) -> int:
        assert flags == os.O_PATH | os.O_CLOEXEC
        descriptor = real(path, flags)
        opened[descriptor] = path
        return descriptor

    rules: dict[str, int] = {}

    def add(*asked: Any) -> int:
        if asked[0] == 445:
            assert asked[1:3] == (99, 1)
            rights, target = struct.unpack("<Qi", asked[3])
            rules[opened[target]] = rights
        return {444: 99}.get(asked[0], 0) if asked[1] is not None else 6

    monkeypatch.setattr(kernel, "syscall", add, raising=False)
    monkeypatch.setattr(confine.os, "open", open_noted)
    monkeypatch.setattr(confine.os, "close", lambda descriptor: None)
    read = [str(paths["read"]), str(paths["file"]), str(tmp_path / "missing")]
    confine.restrict_files(read=read, listed=[str(paths["listed"])], written=[str(paths["written"])])
    monkeypatch.undo()
    for descriptor in opened:
        os.close(descriptor)
    assert rules == {
        str(paths["listed"]): 8,
        str(paths["read"]): 12,
        str(paths["file"]): 4,
        str(paths["written"]): FILES & ~1,
        "/dev/null": 6,
        "/dev/zero": 6,
        "/dev/random": 4,
        "/dev/urandom": 4,
    }


def test_refused_wall_is_an_error(kernel):
    kernel.answers = [6, -1]
    with pytest.raises(OSError, match="landlock: Operation not permitted") as raised:
        confine.restrict_files(read=[], listed=[], written=[])
    assert raised.value.errno == 1
    kernel.answers = [-1]
    with pytest.raises(OSError, match="prctl 36: Operation not permitted"):
        confine.adopt_orphans()


def test_filter_is_set_for_every_thread(kernel, monkeypatch):
    monkeypatch.setattr(confine.os, "uname", lambda: SimpleNamespace(machine="x86_64"))
    confine.filter_calls(("socket",))
    privileges, asked = kernel.asked
    assert privileges == ("prctl", 38, 1, 0, 0, 0)
    assert asked[:4] == ("syscall", 317, 1, 1)
    loaded = confine.prepare_filter(("socket",))
    program = confine.filter_program(ARCHITECTURES["x86_64"], ("socket",))
    assert ctypes.string_at(loaded.filter, len(program)) == program
    assert loaded.length == len(program) / 8
    kernel.answers = [0, 7]
    with pytest.raises(OSError, match=r"^seccomp: thread 7 cannot take the filter over, as it has another one$"):
        confine.filter_calls(("socket",))
    kernel.answers = [0, -1]
    with pytest.raises(OSError, match="seccomp: Operation not permitted"):
        confine.filter_calls(("socket",))


def test_machine_without_a_table_has_no_filter(monkeypatch):
    monkeypatch.setattr(confine.os, "uname", lambda: SimpleNamespace(machine="z80"))
    with pytest.raises(OSError, match=r"^no system call table for 'z80'; there is one for x86_64, aarch64, arm64$"):
        confine.filter_calls(("nothing",))


def test_limits_are_hard_and_processes_counted_apart(monkeypatch):
    limits: dict[int, tuple[int, int]] = {}
    monkeypatch.setattr(resource, "setrlimit", lambda kind, pair: limits.update({kind: pair}))
    wanted = {"RLIMIT_AS": 5, "RLIMIT_NPROC": 6}
    confine.limit_resources(wanted, has_own_count=False)
    assert limits == {resource.RLIMIT_AS: (5, 5)}
    confine.limit_resources(wanted, has_own_count=True)
    assert limits == {resource.RLIMIT_AS: (5, 5), resource.RLIMIT_NPROC: (6, 6)}


def test_root_is_given_up_groups_first(monkeypatch):
    asked: list[Any] = []
    for name in ("setgroups", "setresgid", "setresuid"):
        monkeypatch.setattr(confine.os, name, lambda *given, name=name: asked.append((name, *given)))
    confine.become_user(60_000)
    assert asked == [("setgroups", []), ("setresgid", *[60_000] * 3), ("setresuid", *[60_000] * 3)]


@pytest.mark.parametrize(
    ("wanted", "flags"),
    [
        ({"processes": False}, 0x58000000),
        ({"processes": True}, 0x78000000),
        ({"processes": True, "mounts": True}, 0x78020000),
        ({"processes": False, "mounts": True}, 0x58020000),
    ],
)
def test_user_is_unshared_with_what_is_wanted(kernel, wanted, flags):
    kernel.answers = [0, -1]
    assert confine.unshare_user(**wanted)
    assert not confine.unshare_user(**wanted)
    assert kernel.asked == [("unshare", flags)] * 2


def test_capabilities_are_dropped_to_the_last(kernel):
    kernel.answers = [0] * 41 + [-1]
    confine.drop_capabilities((1 << 35) | 5)
    assert kernel.asked[:42] == [("prctl", 24, number, 0, 0, 0) for number in range(42)]
    header = struct.pack("<Ii", 0x20080522, 0)
    assert kernel.asked[42:] == [
        ("prctl", 47, 4, 0, 0, 0),
        ("capset", header, struct.pack("<6I", 5, 5, 0, 8, 8, 0)),
    ]
    del kernel.asked[:]
    confine.drop_capabilities()
    assert len(kernel.asked) == 64 + 2
    assert kernel.asked[-1] == ("capset", header, bytes(24))
    confine.set_capabilities()
    assert kernel.asked[-1] == ("capset", header, bytes(24))


def test_small_requests_are_the_kernel_s(kernel):
    kernel.answers = [3]
    assert confine.landlock_version() == 3
    confine.adopt_orphans()
    confine.return_free_memory()
    assert kernel.asked == [("syscall", 444, None, 0, 1), ("prctl", 36, 1, 0, 0, 0), ("malloc_trim", 0)]


def test_memory_stays_where_it_cannot_be_returned(monkeypatch):
    monkeypatch.setattr(confine, "_libc", SimpleNamespace())
    confine.return_free_memory()


def test_scratch_is_mounted_with_room_for_the_runtime(kernel):
    mounting.mount_scratch("/tmp", 1000, 50)
    options = b"size=66536,nr_inodes=66,mode=0700"
    assert kernel.asked == [("mount", b"tmpfs", b"/tmp", b"tmpfs", 2 | 4 | 8 | 1024, options)]
    kernel.answers = [-1]
    with pytest.raises(OSError, match="cannot mount a scratch folder at /tmp"):
        mounting.mount_scratch("/tmp", 1000, 50)


def test_user_of_a_namespace_is_the_one_outside(kernel, tmp_path):
    (tmp_path / "self").mkdir()
    names = ("setgroups", "uid_map", "gid_map")
    for name in names:
        (tmp_path / "self" / name).write_text("")
    processes = os.open(tmp_path, os.O_PATH)
    kernel.answers = [1]
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    mounting.unshare_with_mounts(processes)
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208
    told = [(tmp_path / "self" / name).read_text() for name in names]
    assert told == ["deny", f"{os.geteuid()} {os.geteuid()} 1", f"{os.getegid()} {os.getegid()} 1"]
    dumpable = ("prctl", 4, 1, 0, 0, 0)
    assert kernel.asked == [("prctl", 3, 0, 0, 0, 0), dumpable, ("unshare", 0x78020000), dumpable]
    kernel.answers = [0, 0, -1]
    with pytest.raises(OSError, match="no user namespace with mounts of its own"):
        mounting.unshare_with_mounts(processes)
    assert kernel.asked[-1] == ("prctl", 4, 0, 0, 0, 0)
    os.close(processes)
