import os
import sys
import time
from pathlib import Path

import pytest

from carryover.tasks.runtime.contract import CONTRACTS
from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.runtime.runtime_spec import RuntimeSpec, SandboxLevel
from carryover.tasks.runtime.sandbox import bubblewrap, starting
from carryover.tasks.runtime.sandbox.launch import SandboxStartError, launch
from carryover.tasks.runtime.sandbox.level import LEVELS, SandboxUnavailableError, reach_level


def reachable() -> list[SandboxLevel]:
    best = LEVELS.index(reach_level())
    found = []
    for level in LEVELS[best:]:
        try:
            found.append(reach_level(level))
        except SandboxUnavailableError:
            continue
    return found


BACKENDS = ["fork_tree", pytest.param("jupyter", marks=pytest.mark.kernel)]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("level", LEVELS)
def test_every_level_of_the_machine_runs_blocks_under_both_contracts(level, backend):
    spec = RuntimeSpec(backend=backend, sandbox=level, warm_kernel_count=1)
    if level not in reachable():
        with pytest.raises(SandboxUnavailableError, match=f"sandbox level {level.replace('+', '.')} is unavailable"):
            open_runtime(spec)
        return
    runtime = open_runtime(spec)
    assert runtime.sandbox_level == level
    for contract in CONTRACTS.values():
        interpreter = runtime.open_interpreter(contract, {"look": lambda: "seen"}, instance_id="a")
        assert interpreter.run_block("x = look()\nx").result == "'seen'"
        assert interpreter.run_block("'x' in globals()").result == str(contract.lifetime == "episode")
        ended = interpreter.run_block("import os; os._exit(0)").state_event
        assert ended == "rolled_back"
        assert interpreter.run_block("'alive'").result == "'alive'"
        assert interpreter.verify_contract()
        interpreter.close()
    runtime.close()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("level", ["landlock+seccomp", "bwrap+seccomp"])
def test_levels_with_files_of_their_own_hide_the_hosts(level, backend):
    spec = RuntimeSpec(backend=backend, sandbox=level, warm_kernel_count=1)
    if level not in reachable():
        with pytest.raises(SandboxUnavailableError):
            open_runtime(spec)
        return
    runtime = open_runtime(spec)
    interpreter = runtime.open_interpreter(CONTRACTS["stateless"], {}, instance_id="a")
    hidden = [
        interpreter.run_block(code).error
        for code in (f"open({__file__!r})", "open('/etc/passwd')", "open('/dev/tty')", "import carryover")
    ]
    found = interpreter.run_block("import numpy, polars; 'libraries'")
    interpreter.close()
    runtime.close()
    assert all(error is not None for error in hidden)
    assert found.result == "'libraries'"


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("level", ["landlock+seccomp", "bwrap+seccomp"])
def test_carryover_among_the_libraries_is_not_found(level, backend, tmp_path, monkeypatch):
    if level not in reachable():
        with pytest.raises(SandboxUnavailableError):
            open_runtime(RuntimeSpec(backend=backend, sandbox=level))
        return
    environment = tmp_path / "environment"
    folder = environment / "lib" / "site-packages"
    folder.mkdir(parents=True)
    (environment / "lib64").symlink_to("lib")  # as `venv` makes it
    (folder / "beside.py").write_text("found = 'beside'\n")
    (folder / "carryover").mkdir()
    (folder / "carryover" / "__init__.py").write_text("hidden = 1")
    packages = (*bubblewrap.package_directories(), folder)
    libraries = (*bubblewrap.library_directories(), environment)
    monkeypatch.setattr(bubblewrap, "package_directories", lambda: packages)
    monkeypatch.setattr(bubblewrap, "library_directories", lambda: libraries)
    runtime = open_runtime(RuntimeSpec(backend=backend, sandbox=level, preload=("beside",), warm_kernel_count=1))
    interpreter = runtime.open_interpreter(CONTRACTS["persistent"], {}, instance_id="a")
    found = interpreter.run_block("import beside; beside.found")
    imports = ("import carryover", "from carryover.tasks import knapsack")
    errors = [interpreter.run_block(line).error for line in imports]
    read = interpreter.run_block(f"open({str(folder / 'carryover' / '__init__.py')!r}).read()").error
    interpreter.close()
    runtime.close()
    assert found.result == "'beside'"
    for error in errors:
        assert error is not None
        assert error.message.endswith("ModuleNotFoundError: No module named 'carryover'")
    assert read is not None
    assert read.type in ("FileNotFoundError", "PermissionError")


def test_block_imports_a_carryover_of_its_own_folder():
    runtime = open_runtime(RuntimeSpec(scratch_limit_bytes=1 << 20))
    interpreter = runtime.open_interpreter(CONTRACTS["persistent"], {}, instance_id="a")
    interpreter.run_block("open('carryover.py', 'w').write('kept = 7')")
    imported = interpreter.run_block("import carryover; carryover.kept")
    interpreter.close()
    runtime.close()
    assert imported.result == "7"


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("level", LEVELS)
def test_stray_processes_are_ended_at_every_level(level, backend):
    if level not in reachable():
        with pytest.raises(SandboxUnavailableError):
            open_runtime(RuntimeSpec(backend=backend, sandbox=level))
        return
    mark = 100_000 + os.getpid()
    runtime = open_runtime(RuntimeSpec(backend=backend, sandbox=level, warm_kernel_count=1))
    interpreter = runtime.open_interpreter(
        CONTRACTS["stateless"], {"count": lambda: running_count(mark)}, instance_id="a"
    )
    counted = interpreter.run_block(
        "import os, resource, time\nready, told = os.pipe()\nif os.fork() == 0:\n"
        f"    resource.setrlimit(resource.RLIMIT_CPU, ({mark}, {mark})); os.write(told, b'x'); time.sleep(600)\n"
        "os.read(ready, 1)\ncount()"
    )
    interpreter.run_block("'the next block'")
    deadline = time.monotonic() + 60
    while running_count(mark) and time.monotonic() < deadline:
        time.sleep(0.05)
    left = running_count(mark)
    interpreter.close()
    runtime.close()
    assert (counted.result, left) == ("1", 0)


def running_count(cpu_seconds: int) -> int:
    """Return how many processes of the machine may use so many seconds of processor time and have not ended."""
    count = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            limits, state = (process / "limits").read_text(), (process / "stat").read_text().rpartition(") ")[2]
        except OSError:
            continue
        has_limit = f"Max cpu time {cpu_seconds} " in " ".join(limits.split())
        count += has_limit and not state.startswith(("Z", "X"))
    return count


def test_too_low_a_level_is_refused_in_one_line():
    with pytest.raises(SandboxUnavailableError) as refusal:
        reach_level("none", required="seccomp")
    assert str(refusal.value).startswith("seccomp is required, and blocks would run at none: ")
    assert "\n" not in str(refusal.value)


def test_without_bubblewrap_one_line_says_how_to_get_it(monkeypatch, tmp_path, caplog):
    monkeypatch.setenv("PATH", str(tmp_path))
    bubblewrap.probe.cache_clear()
    level = reach_level()
    bubblewrap.probe.cache_clear()
    assert level != "bwrap+seccomp"
    (advice,) = caplog.messages
    assert advice.startswith(f"sandbox level {level}; for a better one: bubblewrap is not installed: ")
    assert "install the package bubblewrap (for bwrap+seccomp)" in advice
    assert "\n" not in advice


def test_denied_namespace_is_reported_in_bubblewraps_own_words(monkeypatch, tmp_path, caplog):
    script = tmp_path / "bwrap"
    script.write_text("#!/bin/sh\necho bwrap: No permissions to create new namespace >&2\nexit 1\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    bubblewrap.probe.cache_clear()
    level = reach_level()
    bubblewrap.probe.cache_clear()
    assert level != "bwrap+seccomp"
    words = "bubblewrap cannot start here (bwrap: No permissions to create new namespace): allow user namespaces"
    (advice,) = caplog.messages
    assert advice.startswith(f"sandbox level {level}; for a better one: {words} (for bwrap+seccomp)")
    assert "\n" not in advice


@pytest.fixture
def hanging(monkeypatch, tmp_path):
    """A bubblewrap that says something and starts nothing, and little patience."""
    script = tmp_path / "bwrap"
    script.write_text("#!/bin/sh\necho first >&2; echo no answer from the kernel >&2\nexec sleep 1000\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(starting, "START_SECONDS", 5.0)
    monkeypatch.setattr(starting, "PATIENCE_SECONDS", 0.5)
    bubblewrap.probe.cache_clear()
    yield
    bubblewrap.probe.cache_clear()


@pytest.mark.slow
@pytest.mark.usefixtures("hanging")
def test_bubblewrap_that_hangs_is_told_in_its_own_last_words(caplog):
    words = "bubblewrap does not start a process within 5 s (no answer from the kernel): repair or remove bwrap"
    assert bubblewrap.probe() == words
    assert "bubblewrap's first process has not started for 0.5 s; up to 5 s are waited" in caplog.text


@pytest.mark.slow
@pytest.mark.usefixtures("hanging")
def test_sandbox_that_hangs_is_told_in_its_own_last_words(caplog):
    with pytest.raises(SandboxStartError) as failure:
        launch("zygote", RuntimeSpec(), "bwrap+seccomp")
    assert str(failure.value) == "the sandbox did not start at level bwrap+seccomp: no answer from the kernel"
    assert "the sandbox at level bwrap+seccomp has not started for 0.5 s; up to 5 s are waited" in caplog.text


@pytest.mark.parametrize("backend", ["fork_tree", "jupyter"])
def test_a_runtime_below_the_required_level_is_refused(backend):
    with pytest.raises(SandboxUnavailableError, match="seccomp"):
        open_runtime(RuntimeSpec(backend=backend, sandbox="none", require_sandbox="seccomp"))


@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_another_system_is_refused_with_the_way_out(monkeypatch, system):
    monkeypatch.setattr(sys, "platform", system)
    with pytest.raises(SandboxUnavailableError) as refusal:
        open_runtime(RuntimeSpec())
    assert str(refusal.value) == (
        f"unsupported platform {system}: no sandbox level is available; run on Linux or in a Linux container"
    )


def test_levels_stand_strongest_first():
    assert LEVELS == ("bwrap+seccomp", "landlock+seccomp", "seccomp", "none")
