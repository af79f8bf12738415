"""What installs packages of Debian and npm: only who may, never through sudo, and otherwise one line that says how."""

import subprocess
from pathlib import Path

import pytest

DEPLOYMENTS = Path(__file__).parents[1] / "deployments"
WORDS = ("bwrap", "bubblewrap", "walls for agent code", "agent code runs behind weaker walls")


@pytest.fixture
def programs(tmp_path):
    """Write programs that note how they were called."""
    folder = tmp_path / "bin"
    folder.mkdir()

    def write(name, does="exit 0"):
        file = folder / name
        file.write_text(f'#!/bin/sh\necho "{name} $*" >>"{tmp_path}/called"\n{does}\n')
        file.chmod(0o755)

    write("sudo")
    return write


def install(tmp_path):
    """Return what is said, and every program that was called."""
    done = subprocess.run(
        ["/bin/sh", DEPLOYMENTS / "install_package.sh", *WORDS],
        env={"PATH": str(tmp_path / "bin")},
        capture_output=True,
        text=True,
        check=True,
    )
    called = tmp_path / "called"
    return done.stdout, called.read_text().splitlines() if called.exists() else []


def test_a_program_that_is_there_needs_nothing(tmp_path, programs):
    programs("bwrap")
    assert install(tmp_path) == ("", [])


def test_who_is_root_has_the_package_installed_and_is_told(tmp_path, programs):
    programs("id", "echo 0")
    programs("apt-get")
    said, called = install(tmp_path)
    assert said == "installing Debian's bubblewrap (walls for agent code)\n"
    assert called == ["id -u", "apt-get -qq update", "apt-get -qq install --yes bubblewrap"]


def test_without_root_the_command_is_told_and_sudo_unused(tmp_path, programs):
    programs("id", "echo 1000")
    programs("apt-get")
    said, called = install(tmp_path)
    assert said == (
        "bubblewrap is missing: agent code runs behind weaker walls; 'sudo apt-get install bubblewrap' gives it\n"
    )
    assert called == ["id -u"]


@pytest.mark.parametrize("is_debian", [True, False])
def test_what_cannot_be_installed_stops_nothing(tmp_path, programs, is_debian):
    programs("id", "echo 0")
    if is_debian:
        programs("apt-get", "exit 100")
    said, _ = install(tmp_path)
    assert "agent code runs behind weaker walls" in said
    assert len(said.splitlines()) == (2 if is_debian else 1)


@pytest.mark.parametrize(
    ("npm", "said"),
    [
        (None, ["npm is missing: {}; 'sudo apt-get install npm' gives it"]),
        ("exit 0", []),
        ("exit 1", ["echarts and axe-core could not be installed: {}"]),
    ],
)
def test_npm_packages_come_by_npm(tmp_path, programs, npm, said):
    without = "the tests that render charts and check accessibility are left out"
    said = [line.format(without) for line in said]
    script = tmp_path / "deployments" / "install_npm_packages.sh"
    script.parent.mkdir()
    script.write_text((DEPLOYMENTS / script.name).read_text())
    if npm is not None:
        programs("npm", npm)
        what = "tests that render charts and check accessibility, 65 MB"
        said = [f"installing echarts and axe-core into node_modules ({what})", *said]
    command, environment = ["/bin/sh", script], {"PATH": str(tmp_path / "bin")}
    assert subprocess.check_output(command, env=environment, text=True).splitlines() == said
