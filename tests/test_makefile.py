"""`make` on a machine that lacks something: one line that says what, and nothing half made left behind."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OUTER_MAKE = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in OUTER_MAKE}
"""A make that runs the tests hands nothing on."""

WITHOUT_ENSUREPIP = '#!/bin/sh\n[ "$1" = -c ] && exit 1\nmkdir -p "$3/bin" && touch "$3/bin/python"\nexit 1\n'
"""Debian's Python without its package of venv: what `-m venv` leaves there has no pip."""


def make(*arguments, **environment):
    """Call make in the repository; return its exit code and its first line on standard error."""
    done = subprocess.run(
        ["make", *arguments], cwd=ROOT, env=ENVIRONMENT | environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stderr.splitlines()[0]


@pytest.fixture
def without_ensurepip(tmp_path):
    file = tmp_path / "python"
    file.write_text(WITHOUT_ENSUREPIP)
    file.chmod(0o755)
    return file


def test_a_python_without_venv_is_said_every_time(tmp_path, without_ensurepip):
    for _ in range(2):
        code, line = make("install", f"PYTHON={without_ensurepip}", f"VENV={tmp_path / 'venv'}")
        assert code != 0
        assert "sudo apt-get install python3.11-venv" in line
        assert not (tmp_path / "venv").exists()


def test_environment_without_pip_is_incomplete(tmp_path, without_ensurepip):
    (tmp_path / "venv" / "bin").mkdir(parents=True)
    (tmp_path / "venv" / "bin" / "python").touch()
    _, line = make("install", f"PYTHON={without_ensurepip}", f"VENV={tmp_path / 'venv'}")
    assert "sudo apt-get install python3.11-venv" in line


def test_a_missing_python_is_named(tmp_path):
    code, line = make("install", "PYTHON=python-that-is-nowhere", f"VENV={tmp_path / 'venv'}")
    assert code != 0
    assert line.startswith("python-that-is-nowhere is missing: ")
    assert not (tmp_path / "venv").exists()


@pytest.mark.parametrize(("target", "command"), [("clean", "rm -rf somewhere"), ("clean-data", "rm -rf data")])
def test_data_are_removed_only_where_they_are_named(target, command):
    dry = ["make", "-n", target, "VENV=somewhere"]
    assert subprocess.check_output(dry, cwd=ROOT, env=ENVIRONMENT, text=True) == f"{command}\n"


def fake_environment(folder, **programs):
    """Make an installed environment of shell scripts, by name."""
    (folder / "bin").mkdir()
    for name, text in programs.items():
        file = folder / "bin" / name
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(0o755)
    (folder / "bin" / "pip").touch()
    (folder / ".installed").touch()


def test_nothing_is_deployed_where_no_server_would_keep_it(tmp_path):
    fake_environment(tmp_path, python='echo "no server" >&2; exit 1', prefect="echo deployed >&2")
    assert make("deploy", f"VENV={tmp_path}")[1] == "no server"


@pytest.mark.parametrize(("own", "seen"), [({}, ""), ({"CARRYOVER_LANDING": "/d/landing"}, "/d/landing")])
def test_deploy_sets_every_variable_that_a_deployment_names(tmp_path, monkeypatch, own, seen):
    """Prefect warns of an unset one, once per deployment."""
    monkeypatch.delitem(ENVIRONMENT, "CARRYOVER_LANDING", raising=False)
    fake_environment(tmp_path, python="exit 0", prefect='[ "$2" != deploy ] || env >&2')
    done = subprocess.run(
        ["make", "deploy", f"VENV={tmp_path}"],
        cwd=ROOT,
        env=ENVIRONMENT | own,
        capture_output=True,
        text=True,
        check=True,
    )
    variables = dict(line.split("=", 1) for line in done.stderr.splitlines() if line.startswith("CARRYOVER_"))
    declared = (ROOT / "deployments" / "prefect.yaml").read_text()
    assert set(re.findall(r"{{ \$(\w+) }}", declared)) <= set(variables)
    assert variables["CARRYOVER_LANDING"] == seen
