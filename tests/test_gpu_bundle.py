"""A study goes to another machine as one file, and its rows come back."""

import importlib.util
import io
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.services.errors import UserError
from tests.storage.conftest import build_episode
from tests.tiny_bases import CELLS, PLAYED_CELLS, save_tiny_base

SCRIPT = Path(__file__).parents[1] / "deployments" / "gpu_bundle.py"
OPTIONS = (
    *("--device", "cpu", "--bucket", "small", "--prompt-set", "compact", "--teacher-habits", "fixed"),
    *("--train-count", "12", "--evaluation-count", "2", "--max-turns", "6", "--max-completion-tokens", "32"),
    *("--lora-rank", "4", "--epochs", "1", "--accumulation", "2"),
)


@pytest.fixture(scope="module")
def script():
    """The script as a module: it stands outside the package."""
    spec = importlib.util.spec_from_file_location("gpu_bundle", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def call(*arguments, **options):
    """Return what the finished script printed."""
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *map(str, arguments)], capture_output=True, text=True, check=False, **options
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def pack_rows(file, landing):
    with tarfile.open(file, "w") as tar:
        tar.add(landing, "landing")


def test_packed_rows_are_merged_once(script, tmp_path):
    there = LandingZone(tmp_path / "there" / "landing")
    there.write(build_episode("e1", "run-there"), "run-there")
    pack_rows(tmp_path / "rows.tar", tmp_path / "there" / "landing")
    home = tmp_path / "home"
    assert [script.merge_rows(tmp_path / "rows.tar", home) for _ in range(2)] == [1, 0]
    with Warehouse.open(home / "warehouse.duckdb") as warehouse:
        assert warehouse.sql("select episode_id from episodes").rows() == [("e1",)]


@pytest.mark.parametrize("name", ["../outside.json", "landing/../../outside.json", "models/weights.bin"])
def test_other_files_than_landed_ones_are_refused(script, tmp_path, name):
    with tarfile.open(tmp_path / "rows.tar", "w") as tar:
        member = tarfile.TarInfo(name)
        member.size = 2
        tar.addfile(member, io.BytesIO(b"{}"))
    with pytest.raises(UserError, match=r"is no landed file; the rows were not packed by run\.sh"):
        script.merge_rows(tmp_path / "rows.tar", tmp_path / "home")
    assert not (tmp_path / "outside.json").exists()


def test_a_link_among_the_rows_is_refused(script, tmp_path):
    with tarfile.open(tmp_path / "rows.tar", "w") as tar:
        member = tarfile.TarInfo("landing/link")
        member.type = tarfile.SYMTYPE
        member.linkname = "/etc/passwd"
        tar.addfile(member)
    with pytest.raises(UserError, match="is no landed file"):
        script.merge_rows(tmp_path / "rows.tar", tmp_path / "home")


def test_a_file_cut_off_is_named_with_the_way_out(script, tmp_path):
    (tmp_path / "rows.tar").write_bytes(b"no tar")
    with pytest.raises(UserError, match="its copy is cut off"):
        script.merge_rows(tmp_path / "rows.tar", tmp_path / "home")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "a bundle needs --base-model FOLDER after --"),
        (("--scale", "paper"), "a bundle needs --base-model FOLDER after --, or --scale of a plan that trains its own"),
        (("--scale", "laptop_rl", "--device", "gpu"), "plan laptop_rl reinforces its models, which needs no GPU"),
        (("--base-model", "Qwen/Qwen3-1.7B"), "base model Qwen/Qwen3-1.7B is not a folder here"),
    ],
)
def test_a_bundle_takes_a_local_base_along(script, tmp_path, options, message):
    with pytest.raises(SystemExit, match=message):
        script.main(["pack", str(tmp_path / "bundle.tar"), "--", *options])
    assert not (tmp_path / "bundle.tar").exists()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--scale", "laptop_mixture", "--device", "gpu"), "--scale laptop_mixture --device gpu"),
        (("--device", "gpu", "--base-model", "BASE"), "--scale pretrained --device gpu --base-model base/tiny"),
        (("--scale", "paper", "--base-model", "BASE"), "--scale paper --base-model base/tiny"),
    ],
)
def test_a_bundle_is_of_any_plan(script, tmp_path, monkeypatch, options, told):
    base = tmp_path / "tiny"
    base.mkdir()
    (base / "config.json").write_text("{}")
    monkeypatch.setattr(script, "_collect_wheels", lambda *_: None)
    monkeypatch.setattr(script, "_play_stages", lambda *_: None)
    given = [str(base) if option == "BASE" else option for option in options]
    script.main(["pack", str(tmp_path / "bundle.tar"), "--", *given])
    with tarfile.open(tmp_path / "bundle.tar") as tar:
        packed = tar.extractfile("bundle/options.txt")
        assert packed is not None
        assert packed.read().decode() == f"{told}\n"
        assert ("bundle/base/tiny/config.json" in tar.getnames()) == ("BASE" in options)


def asked_of_pip(script, tmp_path, monkeypatch, *options):
    """Return the words of the command that downloads wheels."""
    asked = []

    def refuse_downloads(command, **_):
        if "download" in command:
            asked.extend(command)
            raise UserError("no network")

    monkeypatch.setattr(script, "SOURCE", ())
    monkeypatch.setattr(script, "_call", refuse_downloads)
    with pytest.raises(SystemExit, match="no network"):
        script.main(["pack", str(tmp_path / "bundle.tar"), *options, "--", "--base-model", str(tmp_path)])
    return asked


def test_wheels_are_of_the_python_there(script, tmp_path, monkeypatch):
    asked = asked_of_pip(script, tmp_path, monkeypatch, "--wheels", "duckdb", "--python", "3.12")
    assert asked[-1] == "duckdb"
    version, implementation = asked.index("--python-version"), asked.index("--implementation")
    assert (asked[version + 1], asked[implementation + 1]) == ("3.12", "cp")
    platforms = {asked[place + 1] for place, word in enumerate(asked) if word == "--platform"}
    assert {"manylinux_2_28_x86_64", "manylinux_2_24_x86_64", "manylinux_2_17_x86_64"} <= platforms


def test_wheels_are_of_the_packing_python_by_default(script, tmp_path, monkeypatch):
    asked = asked_of_pip(script, tmp_path, monkeypatch, "--wheels", "all")
    assert {"--python-version", "--platform"}.isdisjoint(asked)


@pytest.mark.parametrize("version", ["3", "3.12.3", "3.10", "cp312", "2.12"])
def test_a_python_that_no_wheels_are_named_after_is_refused(script, tmp_path, capsys, version):
    with pytest.raises(SystemExit):
        script.main(["pack", str(tmp_path / "bundle.tar"), "--python", version, "--", "--base-model", str(tmp_path)])
    assert f"unsupported Python '{version}'; give 3.11 or a later minor version, e.g. 3.12" in capsys.readouterr().err


def test_a_python_without_wheels_is_refused(script, tmp_path):
    with pytest.raises(SystemExit, match=r"--python 3\.12 chooses wheels, and none are asked for"):
        script.main(["pack", str(tmp_path / "bundle.tar"), "--python", "3.12", "--", "--base-model", str(tmp_path)])


@pytest.mark.prefect
@pytest.mark.timeout(1800)
def test_a_study_is_packed_run_elsewhere_and_merged(tmp_path):
    base = save_tiny_base(tmp_path / "tiny-llama", "llama")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("CARRYOVER", "PREFECT"))}
    bundle = tmp_path / "bundle.tar"
    call("pack", bundle, "--", "--base-model", base, *OPTIONS, env=environment)
    there = tmp_path / "there"
    with tarfile.open(bundle) as tar:
        names = tar.getnames()
        tar.extractall(there, filter="data")
    assert {"bundle/run.sh", "bundle/options.txt", "bundle/base/tiny-llama/config.json"} <= set(names)
    elsewhere = environment | {"PYTHON": sys.executable}
    for _ in range(2):  # the second start finds everything done
        run = subprocess.run(
            ["sh", "bundle/run.sh"], cwd=there, env=elsewhere, capture_output=True, text=True, check=False
        )
        assert run.returncode == 0, run.stdout + run.stderr[-4000:]
    home = tmp_path / "home"
    assert call("merge", there / "bundle" / "rows.tar", "--home", home, env=environment).endswith(" merged\n")
    with Warehouse.open(home / "warehouse.duckdb") as warehouse:
        played = warehouse.sql(PLAYED_CELLS).rows()
        statistics = warehouse.sql("select count(*) from statistics").rows()
    assert played == [(*cell, 2) for cell in CELLS]
    assert statistics[0][0] > 0
