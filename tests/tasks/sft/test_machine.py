"""What a machine has and a training needs: one rule for this machine and for the workers of a pool."""

import pytest

from carryover.tasks.sft import machine
from carryover.tasks.sft.machine import (
    Machine,
    MachineNeed,
    held_at_once,
    lacks_of,
    named_by,
    read_name,
    this_machine,
    training_need,
)
from carryover.tasks.sft.resources import GIB
from carryover.tasks.sft.training_spec import TRAINING

H100 = Machine("NVIDIA H100 80GB HBM3", 79 * GIB)
T4 = Machine("Tesla T4", 15 * GIB)
NO_GPU = Machine(None, 23 * GIB)
LARGE = MachineNeed("paper", has_gpu=True, memory_bytes=20 * GIB)
SMALL = MachineNeed("smoke", has_gpu=False, memory_bytes=GIB // 2)


@pytest.fixture
def driver(tmp_path, monkeypatch):
    """A function that puts in place what NVIDIA's program prints; nothing is on the path without it."""
    monkeypatch.setenv("PATH", str(tmp_path))

    def install(*lines):
        program = tmp_path / "nvidia-smi"
        program.write_text("#!/bin/sh\ncase $* in\n" + "".join(f"*{line}\n" for line in lines) + "esac\n")
        program.chmod(0o755)

    return install


@pytest.mark.parametrize("machine", [H100, T4, NO_GPU, Machine("Tesla T4"), Machine("GeForce GTX 1650 (Mobile)", GIB)])
def test_name_of_a_worker_says_what_it_has(machine):
    name = named_by("box-gpu0", machine)
    gpu = machine.gpu and machine.gpu.replace("(", "").replace(")", "")
    assert name.startswith("box-gpu0 (")
    assert read_name(name) == machine._replace(gpu=gpu)


@pytest.mark.parametrize("name", ["ProcessWorker 91161283-ffd3", "slurm-7", ""])
def test_other_names_say_nothing(name):
    assert read_name(name) is None


@pytest.mark.parametrize(
    ("need", "machine", "is_met"),
    [
        (LARGE, H100, True),
        (LARGE, T4, False),
        (LARGE, Machine("Tesla T4"), True),  # of unknown memory
        (LARGE, NO_GPU, False),
        (LARGE, None, False),
        (SMALL, NO_GPU, True),
        (SMALL, Machine(None, GIB // 4), False),
        (SMALL, None, True),
        (SMALL, Machine("Tesla T4", GIB // 4), True),  # its own memory is not asked about
        (SMALL, Machine("Tesla T4", 15 * GIB, GIB // 4), False),
        (SMALL, Machine("Tesla T4", GIB // 4, 15 * GIB), True),
        (LARGE, Machine("Tesla T4", 15 * GIB, 500 * GIB), False),
        (MachineNeed("hub", has_gpu=True, memory_bytes=None), T4, True),
    ],
)
def test_machine_meets_a_need_or_not(need, machine, is_met):
    assert need.is_met_by(machine) == is_met
    lack = lacks_of([need], {"this machine": machine})
    assert (lack is None) == is_met


def test_one_machine_must_meet_every_need():
    machines = {f"worker {number}": machine for number, machine in enumerate((T4, NO_GPU))}
    assert lacks_of([LARGE, SMALL], machines) == (
        "a GPU with 20.0 GiB for the training paper, found only worker 0, worker 1"
    )
    assert lacks_of([LARGE, SMALL], machines | {"worker 2": H100}) is None


def test_need_of_a_training_is_its_estimate():
    paper = training_need(TRAINING["paper"].model_copy(update={"base_model": "Qwen/Qwen3-8B"}))
    assert paper.has_gpu
    assert 10 * GIB < (paper.memory_bytes or 0) < 80 * GIB
    unknown = training_need(TRAINING["paper"].model_copy(update={"base_model": "some/body"}))
    assert str(unknown) == "a GPU for the training paper"
    smoke = training_need(TRAINING["smoke"])
    assert not smoke.has_gpu
    assert str(smoke).endswith(" GiB of memory for the training smoke")


def test_machine_without_a_driver_has_its_memory(driver):
    machine = this_machine({})
    assert machine.gpu is None
    assert (machine.memory_bytes or 0) > GIB


def test_a_complaint_names_the_memory_beside_a_gpu():
    small = Machine("Tesla T4", 15 * GIB, GIB // 4)
    assert str(small) == "Tesla T4, 15 GiB, beside 0 GiB"
    said = lacks_of([SMALL], {f"this machine ({small})": small})
    assert said == (
        "0.5 GiB of memory for the training smoke, found only this machine (Tesla T4, 15 GiB, beside 0 GiB)"
    )
    assert named_by("worker", small) == "worker (Tesla T4, 15 GiB)"


@pytest.mark.parametrize(
    ("need", "said"),
    [
        (LARGE, "a GPU with 20.0 GiB for the training paper"),
        (SMALL, "0.5 GiB of memory for the training smoke"),
        (SMALL._replace(memory_bytes=None), "memory for the training smoke"),
        (LARGE.shared_by(3), "a GPU with 60.0 GiB for 3 trainings paper on it (lower --trainings-per-gpu)"),
        (LARGE._replace(memory_bytes=None).shared_by(2), "a GPU for 2 trainings paper on it (lower "
                                                         "--trainings-per-gpu)"),
        (LARGE.shared_by(1), "a GPU with 20.0 GiB for the training paper"),
    ],
)  # fmt: skip
def test_a_need_is_said_with_its_trainings(need, said):
    assert str(need) == said


def test_a_lack_names_four_machines_at_most():
    machines = {f"worker {number}": NO_GPU for number in range(5)}
    said = "a GPU with 20.0 GiB for the training paper, found only worker 0, worker 1, worker 2, worker 3"
    assert lacks_of([LARGE], machines) == f"{said}, ..."
    del machines["worker 4"]
    assert lacks_of([LARGE], machines) == said


def test_a_driver_that_says_nothing_leaves_the_name_of_the_gpu(driver, monkeypatch):
    monkeypatch.setattr(machine, "gpu_name", lambda: "Tesla T4")
    beside = this_machine({"CUDA_VISIBLE_DEVICES": ""}).memory_bytes
    for line in (") ;;", ") echo 'Tesla T4, [N/A]' ;;", ") exit 9 ;;"):
        driver(line)
        assert this_machine({}) == Machine("Tesla T4", None, beside)


def test_needs_of_unknown_memory_are_held_at_once():
    unknown = SMALL._replace(memory_bytes=None)
    assert held_at_once([unknown, unknown], NO_GPU) == 2
    assert held_at_once([LARGE, LARGE, LARGE], Machine(None, GIB)) == 3  # on GPUs
    assert held_at_once([SMALL, SMALL], Machine(None, GIB // 4)) == 1
    assert held_at_once([SMALL, SMALL._replace(memory_bytes=GIB)], Machine(None, 3 * GIB)) == 3


def test_trainings_on_processors_are_held_by_the_memory_beside_a_gpu():
    needs = [SMALL, SMALL, SMALL]
    small = SMALL.memory_bytes or 0
    assert held_at_once(needs, Machine("Tesla T4", 15 * GIB, 2 * small)) == 2
    assert held_at_once(needs, Machine("Tesla T4", small, 9 * small)) == 9
    assert held_at_once(needs, Machine("Tesla T4", small)) == 3
    assert held_at_once(needs, Machine(None, 2 * small)) == 2


def test_machine_has_the_first_gpu_that_it_may_use(driver):
    driver("--id=1) echo 'Tesla T4, 15360' ;;", ") printf 'NVIDIA H100 80GB HBM3, 81559\\nTesla T4, 15360\\n' ;;")
    without = this_machine({"CUDA_VISIBLE_DEVICES": ""})
    assert without.gpu is None
    beside = without.memory_bytes
    assert this_machine({}) == Machine("NVIDIA H100 80GB HBM3", 81559 * 2**20, beside)
    assert this_machine({"CUDA_VISIBLE_DEVICES": "1,0"}) == Machine("Tesla T4", 15360 * 2**20, beside)
    assert this_machine({"CUDA_VISIBLE_DEVICES": "-1"}).gpu is None
