import json
import os
import platform
import sys
from importlib import metadata
from pathlib import Path

import pytest

from carryover.tasks.services.environment import (
    PACKAGES,
    THREAD_VARIABLES,
    VECTOR_INSTRUCTIONS,
    command_line,
    describe_environment,
    gpu_name,
    package_versions,
    processor_count,
    processor_model,
    vector_instructions,
)


def test_the_environment_names_python_machine_and_the_versions_that_matter():
    environment = describe_environment()
    assert environment["python"] == platform.python_version()
    assert environment["packages"]["duckdb"] == metadata.version("duckdb")
    assert environment["processor_count"] >= 1
    assert environment["memory_bytes"] > 0


def test_the_environment_tells_how_the_process_was_called():
    assert describe_environment()["command_line"] == command_line(sys.orig_argv)


def test_a_command_line_names_programs_without_their_folders():
    words = ["/home/someone/.venv/bin/python", ".venv/bin/carryover", "run", "--parts", "a b"]
    assert command_line(words) == "carryover run --parts 'a b'"
    assert command_line(["/usr/bin/python3", "-m", "carryover.flows.cli.start", "run"]) == (
        "python3 -m carryover.flows.cli.start run"
    )
    assert command_line(["/usr/bin/python3", "/home/someone/study.py"]) == "study.py"
    assert command_line(["/usr/bin/python3"]) == "python3"


def test_the_environment_is_json():
    environment = describe_environment()
    assert json.loads(json.dumps(environment)) == environment


def test_processors_are_counted_where_the_system_tells_of_no_affinity(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert processor_count() == (os.cpu_count() or 1)


def describe_processor(folder, flags):
    file = folder / "cpuinfo"
    one = f"processor\t: 0\nmodel name\t: Intel(R) Xeon(R) CPU @ 2.50GHz\nflags\t\t: {flags}\n\n"
    file.write_text(one * 2)
    return file


@pytest.mark.parametrize(
    ("flags", "widest"),
    [("fpu avx avx2 avx512f avx512_vnni", "avx512_vnni"), ("fpu avx avx2", "avx2"), ("fpu sse4_2", None)],
)
def test_a_processor_is_named_with_its_widest_instructions(tmp_path, flags, widest):
    file = describe_processor(tmp_path, flags)
    assert processor_model(file) == "Intel(R) Xeon(R) CPU @ 2.50GHz"
    assert vector_instructions(file) == widest


def test_a_system_without_a_description_names_no_processor(tmp_path):
    assert processor_model(tmp_path / "absent") is None
    assert vector_instructions(tmp_path / "absent") is None


def test_limits_of_threads_are_recorded(monkeypatch):
    for name in THREAD_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert describe_environment()["thread_limits"] == {"OMP_NUM_THREADS": "1"}


def test_a_gpu_is_named_as_its_driver_names_it(tmp_path):
    card = tmp_path / "0000:01:00.0"
    card.mkdir()
    (card / "information").write_text("Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 33\n")
    assert gpu_name(tmp_path) == "NVIDIA H100 80GB HBM3"


def test_the_first_of_several_gpus_is_named(tmp_path, monkeypatch):
    for number, model in enumerate(("A", "B")):
        card = tmp_path / f"0000:0{number}:00.0"
        card.mkdir()
        (card / "information").write_text(f"Model: \t {model}\n")
    listed = Path.glob
    for order in (list, reversed):
        monkeypatch.setattr(Path, "glob", lambda *asked, order=order: order(sorted(listed(*asked))))
        assert gpu_name(tmp_path) == "A"


def test_without_a_driver_there_is_no_gpu(tmp_path):
    assert gpu_name(tmp_path / "absent") is None


def test_the_environment_names_every_part_of_the_machine():
    environment = describe_environment()
    assert list(environment) == [
        "command_line", "python", "system", "machine", "processor", "vector_instructions", "processor_count",
        "thread_limits", "memory_bytes", "gpu", "packages",
    ]  # fmt: skip
    assert (environment["machine"], environment["system"]) == (platform.machine(), platform.platform())
    assert (environment["processor"], environment["vector_instructions"]) == (processor_model(), vector_instructions())
    assert environment["gpu"] == gpu_name()


@pytest.mark.parametrize("name", VECTOR_INSTRUCTIONS)
def test_each_wider_instruction_is_preferred(tmp_path, name):
    narrower = VECTOR_INSTRUCTIONS[VECTOR_INSTRUCTIONS.index(name) :]
    assert vector_instructions(describe_processor(tmp_path, " ".join(reversed(narrower)))) == name


def test_instructions_packages_and_variables_are_these():
    assert VECTOR_INSTRUCTIONS == (
        "amx_tile", "avx512_bf16", "avx512_vnni", "avx512f", "avx_vnni", "avx2", "avx", "asimd",
    )  # fmt: skip
    assert THREAD_VARIABLES == ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS")
    assert set(package_versions()) == {name for name in PACKAGES if is_installed(name)}


def is_installed(name):
    try:
        return bool(metadata.version(name))
    except metadata.PackageNotFoundError:
        return False
