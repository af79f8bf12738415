"""Sandbox levels of machines that a test makes up."""

from types import SimpleNamespace

import pytest

from carryover.tasks.runtime.sandbox import bubblewrap, level, starting
from carryover.tasks.runtime.sandbox.level import SandboxUnavailableError, reach_level


@pytest.fixture
def machine(monkeypatch):
    """Make up a machine by what it has."""

    def make(*, bwrap: str = "", landlock: int = 6, kind: str = "x86_64", platform: str = "linux") -> None:
        monkeypatch.setattr(bubblewrap, "probe", lambda: bwrap)
        monkeypatch.setattr(level, "landlock_version", lambda: landlock)
        monkeypatch.setattr(level.os, "uname", lambda: SimpleNamespace(machine=kind))
        monkeypatch.setattr(level.sys, "platform", platform)

    make()
    return make


KERNEL = "boot a kernel with Landlock (5.13 or later, lsm=landlock)"


@pytest.mark.parametrize(
    ("fields", "reached", "advice"),
    [
        ({}, "bwrap+seccomp", None),
        ({"bwrap": "install it"}, "landlock+seccomp", "install it (for bwrap+seccomp)"),
        (
            {"bwrap": "install it", "landlock": 0},
            "seccomp",
            f"install it (for bwrap+seccomp); {KERNEL} (for landlock+seccomp)",
        ),
        ({"bwrap": "install it", "landlock": -1}, "seccomp", None),
    ],
)
def test_best_level_is_reached_and_a_better_one_advised(machine, caplog, fields, reached, advice):
    machine(**fields)
    assert reach_level() == reached
    if advice is not None:
        assert caplog.messages == [f"sandbox level {reached}; for a better one: {advice}"]
    elif not fields:
        assert caplog.messages == []


@pytest.mark.parametrize(
    ("fields", "way_out"),
    [
        ({"platform": "darwin"}, "run on Linux, or in a Linux container or virtual machine"),
        ({"kind": "z80"}, "run on aarch64 or arm64 or x86_64, this is z80"),
    ],
)
def test_machine_without_walls_says_how_to_get_them(machine, caplog, fields, way_out):
    machine(**fields)
    assert reach_level() == "none"
    ways = "; ".join(f"{way_out} (for {name})" for name in ("bwrap+seccomp", "landlock+seccomp", "seccomp"))
    assert caplog.messages == [f"sandbox level none; for a better one: {ways}"]
    with pytest.raises(SandboxUnavailableError) as refused:
        reach_level("seccomp")
    assert str(refused.value) == f"sandbox level seccomp is unavailable: {way_out}"
    with pytest.raises(SandboxUnavailableError) as refused:
        reach_level(required="seccomp")
    assert str(refused.value) == f"seccomp is required, and blocks would run at none: {way_out}"


@pytest.mark.usefixtures("machine")
def test_level_that_is_chosen_is_taken(caplog):
    assert reach_level("seccomp", required="seccomp") == "seccomp"
    ways = "choose bwrap+seccomp; choose landlock+seccomp"
    assert caplog.messages == [f"sandbox level seccomp; for a better one: {ways}"]
    with pytest.raises(SandboxUnavailableError) as refused:
        reach_level("seccomp", required="landlock+seccomp")
    reason = "choose no `sandbox`, or the one required"
    assert str(refused.value) == f"landlock+seccomp is required, and blocks would run at seccomp: {reason}"


class ExpiredError(Exception):
    pass


def test_start_that_takes_long_is_told_once(caplog):
    waited: list[float] = []

    def wait(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 1:
            raise ExpiredError

    starting.wait_patiently(wait, ExpiredError, "the sandbox")
    assert waited == [10.0, 590.0]
    assert caplog.messages == ["the sandbox has not started for 10 s; up to 600 s are waited"]
    starting.wait_patiently(wait, ExpiredError, "the sandbox")
    assert (waited[2:], len(caplog.messages)) == ([10.0], 1)


@pytest.mark.parametrize(
    ("written", "last"),
    [(b"", ""), (b"one", "one"), (b"one\ntwo\n\n", "two"), (b"x" * 5000, "x" * 4096), (b"\xff", "\ufffd")],
)
def test_last_words_are_the_last_line(written, last):
    errors = starting.Errors()
    starting.os.write(errors.descriptor, written)
    assert errors.last_line() == last
    errors.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        starting.os.fstat(errors.descriptor)
