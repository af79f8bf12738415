"""Reaching out of the sandbox: files, network, programs, rights, the terminal, processes of the host."""

import os
import re
import socket

import pytest

from tasks.runtime.sandbox.level import LEVELS


@pytest.mark.parametrize(
    "code",
    [
        "import os\nos.listdir('/home')",
        "open('/etc/passwd').read()",
        "open('/root/.ssh/id_rsa').read()",
        "import os\nos.listdir('/proc')",
        "open('/usr/lib/kept', 'w')",
        "open('/kept', 'w')",
        "open('/dev/shm/kept', 'w')",
        "open('{folder}/there').read()",
        "open('{folder}/there', 'a')",
        "open('{folder}/new', 'w')",
        "import os\nos.listdir('{folder}')",
        "import os\nos.remove('{folder}/there')",
    ],
)
def test_files_of_the_host_are_out_of_reach(skip_below, walled, tmp_path, code):
    interpreter, level = walled
    skip_below("landlock+seccomp", level)
    (tmp_path / "there").touch()
    result = interpreter.run_block(code.format(folder=tmp_path))
    assert result.error is not None
    assert result.error.type in ("FileNotFoundError", "PermissionError", "OSError")
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


def test_network_of_the_host_is_out_of_reach(skip_below, walled):
    interpreter, level = walled
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        error = interpreter.run_block(f"import socket\nsocket.create_connection(('127.0.0.1', {port}), 1)").error
    skip_below("seccomp", level)
    assert error is not None
    assert error.type in ("PermissionError", "OSError", "ConnectionRefusedError")


@pytest.mark.parametrize(
    "code",
    [
        "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_STREAM)",
        "import socket\nsocket.socket(socket.AF_UNIX)",
        "import socket\nsocket.socketpair()",
        "import urllib.request\nurllib.request.urlopen('http://127.0.0.1:80', timeout=1)",
        "import subprocess\nsubprocess.run(['/bin/true'])",
        "import os\nos.execv('/bin/true', ['true'])",
        "import os\nif os.system('true') != 0: raise OSError",
        "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\nif libc.ptrace(0, 0, 0, 0) < 0: raise OSError",
        "import ctypes\nif ctypes.CDLL(None).unshare(0x10000000) < 0: raise OSError",
        "import ctypes\nif ctypes.CDLL(None).mount(b'none', b'/', b'tmpfs', 0, None) < 0: raise OSError",
        "import os\nos.memfd_create('flood')",
        "import os\nos.setuid(0)",
        "import os\nos.chroot('/')",
    ],
)
def test_network_programs_and_rights_are_denied(skip_below, walled_fork_tree, code):
    interpreter, level = walled_fork_tree
    skip_below("seccomp", level)
    error = interpreter.run_block(code).error
    assert error is not None
    assert error.type in ("PermissionError", "OSError", "URLError", "FileNotFoundError")


def test_process_is_nobody_special(skip_below, walled):
    interpreter, level = walled
    skip_below("seccomp", level)
    assert interpreter.run_block("import os; os.getuid() != 0 and os.geteuid() != 0").result == "True"


def test_nothing_is_typed_into_the_workers_terminal(skip_below, walled):
    interpreter, level = walled
    skip_below("seccomp", level)
    typed = interpreter.run_block(
        "import fcntl, os\n"
        "def type_into(descriptor):\n"
        "    try:\n        fcntl.ioctl(descriptor, 0x5412, b'x')\n"
        "    except OSError as error:\n        return type(error).__name__\n"
        "{type_into(n) for n in range(256)}, os.path.exists('/dev/tty')"
    ).result
    assert typed.startswith("({'PermissionError'}")
    skip_below("bwrap+seccomp", level)
    assert typed.endswith("False)")


def test_signals_reach_no_process_of_the_host(skip_below, walled):
    interpreter, level = walled
    skip_below("seccomp", level)
    code = f"import os\ntry:\n    os.kill({os.getpid()}, 9)\nexcept OSError as error: print(error)"
    assert interpreter.run_block(code).output
    assert interpreter.run_block("'alive'").result == "'alive'"


@pytest.mark.parametrize("level", LEVELS)
def test_wall_that_a_level_lacks_is_skipped_by_name_and_never_shown_as_standing(skip_below, level):
    skip_below(level, level)
    for lower in LEVELS[LEVELS.index(level) + 1 :]:
        with pytest.raises(
            pytest.skip.Exception, match=f"sandbox level {re.escape(lower)}; .* from {re.escape(level)}"
        ):
            skip_below(level, lower)
