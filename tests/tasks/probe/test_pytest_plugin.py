import subprocess
import sys
import tomllib
from pathlib import Path

PLUGIN = "carryover.tasks.probe.pytest_plugin"
TEST = """
from carryover.tasks.probe.channels import CHANNELS
from tests.tasks.probe.planted import Namespace

NAMES = {"global": CHANNELS["global"]}


def test_kept(assert_contract):
    assert_contract(Namespace(), "persistent", NAMES)


def test_broken(assert_contract):
    assert_contract(Namespace(), "stateless", NAMES)
"""


def test_a_frameworks_test_fails_with_the_breach(tmp_path):
    root = Path(__file__).parents[3]
    (tmp_path / "test_runtime.py").write_text(TEST)
    words = [sys.executable, "-m", "pytest", "-q", "-p", PLUGIN, "-p", "no:cacheprovider", str(tmp_path)]
    # The environment may know the plugin by its entry point already, or hold older metadata without it.
    environment = {"PYTHONPATH": str(root), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)
    assert "1 failed, 1 passed" in done.stdout
    assert "Namespace is not stateless:" in done.stdout
    assert "global: kept after a block" in done.stdout


def test_the_plugin_is_an_entry_point():
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"carryover": PLUGIN}
