"""What the zygote does before the first fork shows in no block."""

import pytest


@pytest.mark.parametrize(
    "probe",
    [
        "any(name.startswith('<step 0') for name in __import__('linecache').cache)",
        "'random' in __import__('sys').modules",
        "any(name in globals() for name in ('x', 'rows'))",
        "any(hasattr(__import__('sys'), name) for name in ('last_type', 'last_value', 'last_traceback'))",
        "__import__('os').pread(1, 9, 0) != b''",
    ],
)
def test_first_block_finds_nothing_of_the_warm_up(open_fork_tree, contract, probe):
    assert open_fork_tree(contract).run_block(probe).result == "False"


def test_random_looks_as_ever_when_it_is_imported(open_fork_tree):
    interpreter = open_fork_tree("persistent")
    assert interpreter.run_block("import random\nrandom.__spec__.origin == random.__file__").result == "True"
    assert interpreter.run_block("import sys\nsys.modules['random'] is random").result == "True"
