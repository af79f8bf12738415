"""What installs vLLM: the extra, whose exact versions go together, and the script, which says in a line what it lacks.

pip stands behind a program of the test's own, which says what pip would: the true one takes gigabytes.
"""

import os
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.flattening import flat

ROOT = Path(__file__).parents[1]
MAKES_ENVIRONMENTS = """#!/bin/sh
[ "$3" = --clear ] && shift
rm -rf "$3"/* && mkdir -p "$3/bin"
printf '#!/bin/sh\\ncase "$*" in *pip*) {pip} ;; *metadata*) echo vllm 0.32.0 ;; *) {torch} ;; esac\\n' >"$3/bin/python"
printf '#!/bin/sh\\necho 0.32.0\\n' >"$3/bin/vllm"
chmod +x "$3/bin/python" "$3/bin/vllm"
"""


@pytest.mark.parametrize(
    ("file", "extras"),
    [
        ("constraints.txt", ["frames", "study", "train", "weights", "dev"]),
        ("constraints_gpu.txt", ["frames", "study", "train", "gpu"]),
    ],
)
def test_exact_versions_are_those_that_the_project_asks_for(file, extras):
    pinned = [Requirement(line) for line in (ROOT / "deployments" / file).read_text().splitlines()]
    versions = {canonicalize_name(each.name): str(each.specifier).removeprefix("==") for each in pinned}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = project["dependencies"] + list(flat(project["optional-dependencies"][extra] for extra in extras))
    others = [each for each in map(Requirement, wanted) if each.name != project["name"]]
    for requirement in others:
        assert requirement.specifier.contains(versions[canonicalize_name(requirement.name)]), requirement


def test_build_requirements_are_pinned_exactly():
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    assert set(asked) <= set((ROOT / "deployments" / "constraints.txt").read_text().splitlines())


def python(folder, *, pip="exit 0", torch="exit 0"):
    """Write a Python whose environments answer pip and the question for CUDA as given."""
    file = folder / "python"
    file.write_text(MAKES_ENVIRONMENTS.format(pip=pip, torch=torch))
    file.chmod(0o755)
    return file


@pytest.fixture
def programs(tmp_path):
    folder = tmp_path / "venv" / "bin"
    folder.mkdir(parents=True)
    return folder


def install(tmp_path, executable):
    return subprocess.run(
        ["sh", ROOT / "deployments" / "install_vllm.sh", tmp_path / "vllm"],
        env=os.environ | {"PYTHON": str(executable), "VENV": str(tmp_path / "venv")},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_program_is_linked_beside_our_python(tmp_path, programs):
    done = install(tmp_path, python(tmp_path))
    assert (done.returncode, done.stdout, done.stderr) == (0, "vllm 0.32.0\n", "")
    assert (programs / "vllm").resolve() == tmp_path / "vllm" / "bin" / "vllm"


@pytest.mark.parametrize(
    ("answers", "reason"),
    [({"pip": "exit 1"}, "pip ended with what stands above"), ({"torch": "exit 1"}, "pip took a torch without CUDA")],
)
def test_a_vllm_that_cannot_serve_is_not_linked(tmp_path, programs, answers, reason):
    done = install(tmp_path, python(tmp_path, **answers))
    assert done.returncode == 1
    assert done.stderr.startswith(f"vllm is not installed: {reason}")
    assert len(done.stderr.splitlines()) == 1
    assert not (programs / "vllm").is_symlink()


def test_failed_remains_are_cleared_and_successes_kept(tmp_path, programs):
    install(tmp_path, python(tmp_path, torch="exit 1"))
    left = tmp_path / "vllm" / "bin" / "torch-for-cpu"
    left.touch()
    assert install(tmp_path, python(tmp_path)).returncode == 0
    assert not left.exists()
    left.touch()
    assert install(tmp_path, python(tmp_path, pip="exit 1")).returncode == 0  # nothing is installed twice
    assert left.exists()


def test_a_missing_python_and_a_missing_environment_are_named(tmp_path):
    done = install(tmp_path, "python-that-is-nowhere")
    assert done.stderr.startswith("vllm is not installed: python-that-is-nowhere is missing")
    done = install(tmp_path, python(tmp_path))
    assert done.stderr.startswith(f"vllm is not installed: there is no {tmp_path / 'venv'}/bin; run make install first")
    assert not (tmp_path / "vllm").exists()
