"""The bubblewrap command line: read-only files, no network, nothing more."""

import contextlib
import functools
import itertools
import os
import shutil
import site
import subprocess
import sys
import sysconfig
from pathlib import Path

from carryover.tasks.runtime.sandbox import starting

INSIDE_MOUNT = "/opt/carryover"
"""Where the sandbox side of this package is mounted."""
INSIDE_DIRECTORY = Path(__file__).resolve().parent.parent / "inside"
"""The directory that holds the sandbox side."""
SCRATCH_MOUNT = "/tmp"
"""Where an episode mounts its scratch folder; empty and read-only for one without."""
OTHER_SCRATCH_MOUNT = "/scratch"
"""The same where installed packages lie below `/tmp`, which a mount would hide."""
INTERPRETER = str(Path(sys.executable).resolve())
"""The Python executable itself, not the link that a virtual environment has to it."""
SYSTEM_FILES = ("/usr/lib", "/usr/lib64", "/lib", "/lib64", "/etc/ld.so.cache", "/proc/cpuinfo")
"""Libraries, and what they read of the processor: without it torch prints an error into the block's output."""
_DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")


def library_directories() -> tuple[Path, ...]:
    """Return the directories that a Python process needs, without duplicates.

    They are the interpreter's own and the installed packages'.
    """
    paths = sysconfig.get_paths()
    wanted = [Path(sys.base_prefix), Path(paths["stdlib"]), Path(paths["platstdlib"]), *package_directories()]
    kept: list[Path] = []
    for path in wanted:
        if path.is_dir() and not any(path.is_relative_to(other) for other in kept):
            kept.append(path)
    return tuple(kept)


def package_directories() -> tuple[Path, ...]:
    """Directories of installed packages, in the order of the import path."""
    paths = sysconfig.get_paths()
    found = dict.fromkeys(Path(path) for path in (paths["purelib"], paths["platlib"], *site.getsitepackages()))
    return tuple(path for path in found if path.is_dir())


def scratch_mount() -> str:
    """Return the path at which an episode mounts its scratch folder."""
    if any(path.is_relative_to(SCRATCH_MOUNT) for path in library_directories()):
        return OTHER_SCRATCH_MOUNT
    return SCRATCH_MOUNT


def own_traces() -> tuple[Path, ...]:
    """Return this project's installed files, to hide.

    A block must not find the sampler.
    """
    globs = itertools.product(package_directories(), ("carryover*", "_*carryover*"))
    found = (sorted(directory.glob(pattern)) for directory, pattern in globs)
    return tuple(itertools.chain.from_iterable(found))


def command(*, keeps_root: bool) -> list[str]:
    """Return the prefix that runs a command in the sandbox.

    With `keeps_root` it starts as root, to become another user itself; else a user namespace hides who runs it.
    """
    words = [shutil.which("bwrap") or "bwrap", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts"]
    words += ["--unshare-cgroup-try", "--clearenv", "--hostname", "sandbox"]
    if keeps_root:
        words += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    else:
        words += ["--unshare-user"]
    return [*words, *_file_system(), "--remount-ro", "/", "--chdir", "/"]


def _file_system() -> list[str]:
    """Return the mount options; later mounts lie over earlier ones."""
    words = _directories()
    for path in SYSTEM_FILES:
        words += ["--ro-bind-try", path, path]
    for directory in library_directories():
        words += ["--ro-bind", str(directory), str(directory)]
    for path in own_traces():
        words += _hide(path)
    words += ["--ro-bind", str(INSIDE_DIRECTORY), f"{INSIDE_MOUNT}/inside"]
    for device in _DEVICES:
        words += ["--dev-bind", device, device]
    for path in own_traces():
        if path.is_dir():
            words += ["--remount-ro", str(path)]
    return words


def _directories() -> list[str]:
    """Return the options that make mount points, readable to every user."""
    words = []
    targets = [*map(Path, (*SYSTEM_FILES, *_DEVICES)), *library_directories(), Path(INSIDE_MOUNT, "inside")]
    parents = itertools.chain.from_iterable(target.parents[:-1] for target in targets)
    for parent in sorted(set(parents)):
        words += ["--perms", "0755", "--dir", str(parent)]  # those that bubblewrap makes are for their owner alone
    words += ["--perms", "0755", "--dir", SCRATCH_MOUNT, "--perms", "0755", "--dir", scratch_mount()]
    return [*words, "--symlink", scratch_mount(), "/dev/shm"]


def _hide(path: Path) -> list[str]:
    """Return the options that mount nothing over a path."""
    if path.is_dir():
        return ["--perms", "0755", "--tmpfs", str(path)]
    return ["--ro-bind", "/dev/null", str(path)]


@functools.cache
def probe() -> str:
    """Return why bubblewrap fails here and the remedy, or nothing.

    It is tried once per worker.
    """
    if shutil.which("bwrap") is None:
        return "bubblewrap is not installed: install the package bubblewrap"
    words = [*command(keeps_root=os.geteuid() == 0), INTERPRETER, "-I", "-S", "-c", ""]
    with contextlib.closing(starting.Errors()) as errors:
        attempt = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors.descriptor)
        try:
            starting.wait_patiently(attempt.wait, subprocess.TimeoutExpired, "bubblewrap's first process")
        except subprocess.TimeoutExpired:
            attempt.kill()
            attempt.wait()
            late = f"bubblewrap does not start a process within {starting.START_SECONDS:g} s"
            return f"{late} ({errors.last_line() or 'without a word'}): repair or remove bwrap"
        if attempt.returncode == 0:
            return ""
        return f"bubblewrap cannot start here ({errors.last_line() or attempt.returncode}): allow user namespaces"
