"""The whole command and settings of a sandboxed process, and what Landlock allows it to read."""

import resource
import sysconfig
from pathlib import Path

import pytest

from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.runtime.sandbox import bubblewrap, launch


@pytest.fixture
def libraries(tmp_path, monkeypatch):
    """Two library folders, of which the first holds this project's package and a file that names it."""
    first, second = tmp_path / "lib" / "python", tmp_path / "base"
    for path in (first / "carryover", first / "numpy", second):
        path.mkdir(parents=True)
    (first / "_carryover.pth").write_text("")
    (first / "single.py").write_text("")
    monkeypatch.setattr(bubblewrap, "library_directories", lambda: (first, second))
    monkeypatch.setattr(bubblewrap, "own_traces", lambda: (first / "_carryover.pth", first / "carryover"))
    return first, second


def test_landlock_allows_all_but_the_projects_own_files(libraries, tmp_path):
    first, second = libraries
    (tmp_path / "lib" / "link").symlink_to(first)
    (first / "beside").symlink_to(tmp_path / "lib")
    (first / "numpy_link").symlink_to(first / "numpy")
    (first / "own_link").symlink_to(first / "carryover")
    allowed = launch._landlock_paths()
    read = {Path(path) for path in allowed["read"]}
    system = {bubblewrap.INSIDE_DIRECTORY, *map(Path, bubblewrap.SYSTEM_FILES)}
    assert read - system == {first / "numpy", first / "numpy_link", first / "single.py", second}
    assert system <= read
    assert allowed["listed"] == [str(first)]


def options(words, name):
    """Return the argument pairs of an option, in order."""
    return [(words[place + 1], words[place + 2]) for place, word in enumerate(words) if word == name]


@pytest.mark.parametrize("keeps_root", [True, False])
def test_bubblewrap_mounts_libraries_and_hides_the_project(libraries, monkeypatch, keeps_root):
    first, second = libraries
    monkeypatch.setattr(bubblewrap.shutil, "which", lambda name: f"/usr/bin/{name}")
    words = bubblewrap.command(keeps_root=keeps_root)
    rights = ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"] if keeps_root else ["--unshare-user"]
    begin = [
        "/usr/bin/bwrap", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try",
        "--clearenv", "--hostname", "sandbox", *rights,
    ]  # fmt: skip
    assert words[: len(begin)] == begin
    assert words[-4:] == ["--remount-ro", "/", "--chdir", "/"]
    assert options(words, "--ro-bind-try") == [(path, path) for path in bubblewrap.SYSTEM_FILES]
    assert options(words, "--ro-bind") == [
        (str(first), str(first)), (str(second), str(second)), ("/dev/null", str(first / "_carryover.pth")),
        (str(bubblewrap.INSIDE_DIRECTORY), f"{bubblewrap.INSIDE_MOUNT}/inside"),
    ]  # fmt: skip
    devices = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")
    assert options(words, "--dev-bind") == [(device, device) for device in devices]
    hidden = words.index("--tmpfs")
    assert words[hidden - 2 : hidden + 2] == ["--perms", "0755", "--tmpfs", str(first / "carryover")]
    assert words.index(str(first)) < hidden  # a later mount lies over an earlier one
    assert options(words, "--remount-ro")[0][0] == str(first / "carryover")
    made = [path for path, _ in options(words, "--dir")]
    assert {"/usr", "/etc", "/dev", str(first.parent), str(Path(bubblewrap.INSIDE_MOUNT)), "/tmp"} <= set(made)
    assert made.index(str(first.parent.parent)) < made.index(str(first.parent))
    assert options(words, "--symlink") == [(bubblewrap.scratch_mount(), "/dev/shm")]


def test_scratch_lies_elsewhere_where_libraries_lie_below_tmp(monkeypatch):
    monkeypatch.setattr(bubblewrap, "library_directories", lambda: (Path("/usr/lib/python"), Path("/opt")))
    assert bubblewrap.scratch_mount() == "/tmp"
    monkeypatch.setattr(bubblewrap, "library_directories", lambda: (Path("/usr/lib/python"), Path("/tmp/env")))
    assert bubblewrap.scratch_mount() == "/scratch"


def test_library_directories_lie_in_no_other(monkeypatch, tmp_path):
    base, packages = tmp_path / "base", tmp_path / "packages"
    for path in (base / "lib", packages):
        path.mkdir(parents=True)
    paths = {"stdlib": base / "lib", "platstdlib": tmp_path / "missing", "purelib": packages, "platlib": packages}
    monkeypatch.setattr(sysconfig, "get_paths", lambda: {name: str(path) for name, path in paths.items()})
    monkeypatch.setattr(bubblewrap.site, "getsitepackages", lambda: [str(tmp_path / "nowhere"), str(base / "lib")])
    monkeypatch.setattr(bubblewrap.sys, "base_prefix", str(base))
    assert bubblewrap.library_directories() == (base, packages)
    assert bubblewrap.package_directories() == (packages, base / "lib")
    for name in ("carryover", "carryover-1.dist-info", "_editable_carryover.pth", "numpy"):
        (packages / name).mkdir()
    found = ["carryover", "carryover-1.dist-info", "_editable_carryover.pth"]
    assert bubblewrap.own_traces() == tuple(packages / name for name in found)


@pytest.mark.parametrize("user", [0, 1000])
@pytest.mark.parametrize("level", ["bwrap+seccomp", "landlock+seccomp", "seccomp", "none"])
def test_every_level_starts_the_same_entry(libraries, monkeypatch, level, user):
    monkeypatch.setattr(launch.os, "geteuid", lambda: user)
    command = launch._command("reader", level, 7)
    is_mounted = level == "bwrap+seccomp"
    root = bubblewrap.INSIDE_MOUNT if is_mounted else str(bubblewrap.INSIDE_DIRECTORY.parent)
    code = (
        f"import sys; sys.path.insert(0, {root!r}); from inside import own_builtins; own_builtins.install(); "
        "from inside.reader import main; main(7)"
    )
    python = [bubblewrap.INTERPRETER, "-s", "-P", "-S", "-B", "-c", code]
    assert command[-len(python) :] == python
    if not is_mounted:
        assert command == python
        return
    prefix = bubblewrap.command(keeps_root=user == 0)
    assert command[: len(prefix)] == prefix
    assert dict(options(command, "--setenv")) == launch._ENVIRONMENT


@pytest.mark.parametrize("level", ["bwrap+seccomp", "landlock+seccomp", "seccomp", "none"])
def test_settings_tell_walls_and_limits(libraries, monkeypatch, level):
    spec = RuntimeSpec(preload=("math",), memory_limit_bytes=1 << 30, process_limit=9, output_limit_bytes=1000)
    told = launch.settings(spec, level)
    limits = told.pop("limits")
    assert limits == {
        "RLIMIT_AS": 1 << 30, "RLIMIT_NPROC": 9, "RLIMIT_FSIZE": 1000, "RLIMIT_NOFILE": 4096, "RLIMIT_CORE": 0,
        "RLIMIT_MEMLOCK": 0, "RLIMIT_MSGQUEUE": 0,
    }  # fmt: skip
    assert all(hasattr(resource, name) for name in limits)
    is_walled = level != "none"
    is_root = launch.os.geteuid() == 0
    assert told == {
        "user": 60_000 if is_root and level == "bwrap+seccomp" else None,
        "path": [str(path) for path in bubblewrap.package_directories()],
        "preload": ["math"],
        "unshares": is_walled,
        "filters_calls": is_walled,
        "landlock": launch._landlock_paths() if level == "landlock+seccomp" else {},
        "scratch": [],
    }
    larger = spec.model_copy(update={"scratch_limit_bytes": 5000})
    assert launch.settings(larger, level)["limits"]["RLIMIT_FSIZE"] == 5000


def test_nothing_of_the_hosts_environment_enters():
    assert launch._ENVIRONMENT["PYTHONHASHSEED"] == "0"
    assert launch._ENVIRONMENT["TZ"] == "UTC"
    threads = {name: value for name, value in launch._ENVIRONMENT.items() if name.endswith("_THREADS")}
    assert threads == {
        "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "POLARS_MAX_THREADS": "2",
    }  # fmt: skip
