import struct

import pytest

from tasks.runtime.inside.confine import denied_calls, filter_program
from tasks.runtime.inside.syscalls import AARCH64, X86_64, Architecture

ALLOW, DENY, KILL = 0x7FFF0000, 0x00050001, 0x80000000


def verdict(program: bytes, architecture: int, number: int) -> int:
    """Interpret a filter as the kernel does."""
    instructions = list(struct.iter_unpack("<HBBI", program))
    position, accumulator = 0, 0
    while True:
        code, if_true, if_false, constant = instructions[position]
        position += 1
        match code:
            case 0x20:
                accumulator = {0: number, 4: architecture}[constant]
            case 0x15:
                position += if_true if accumulator == constant else if_false
            case 0x35:
                position += if_true if accumulator >= constant else if_false
            case 0x06:
                return constant


@pytest.mark.parametrize("architecture", [X86_64, AARCH64])
def test_filter_denies_what_it_names_and_allows_the_rest(architecture):
    program = filter_program(architecture, architecture.numbers)
    denied = set(architecture.numbers.values())
    for number in range(500):
        expected = DENY if number in denied else ALLOW
        assert verdict(program, architecture.audit, number) == expected


@pytest.mark.parametrize(("architecture", "foreign"), [(X86_64, AARCH64), (AARCH64, X86_64)])
def test_calls_of_another_architecture_kill(architecture, foreign):
    assert verdict(filter_program(architecture, ()), foreign.audit, 1) == KILL


def test_calls_of_the_x32_interface_kill():
    assert verdict(filter_program(X86_64, ()), X86_64.audit, 0x40000000 + 41) == KILL


@pytest.mark.parametrize(
    ("architecture", "numbers"),
    [
        (X86_64, {"socket": 41, "execve": 59, "ptrace": 101, "mount": 165, "unshare": 272, "memfd_create": 319}),
        (AARCH64, {"socket": 198, "execve": 221, "ptrace": 117, "mount": 40, "unshare": 97, "memfd_create": 279}),
    ],
)
def test_numbers_are_those_of_the_kernels_tables(architecture: Architecture, numbers):
    assert {name: architecture.numbers[name] for name in numbers} == numbers


def test_both_architectures_deny_the_same_calls():
    assert sorted(X86_64.numbers) == sorted(AARCH64.numbers)


def test_signals_are_denied_where_processes_are_shared():
    assert "kill" in denied_calls(has_own_process_namespace=False)
    assert "kill" not in denied_calls(has_own_process_namespace=True)
    assert "socket" not in denied_calls(has_own_process_namespace=True, needs_sockets=True)
