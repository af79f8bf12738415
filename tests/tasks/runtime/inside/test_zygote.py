"""What the zygote imports before the first fork."""


def test_random_looks_as_ever_when_it_is_imported(open_fork_tree):
    interpreter = open_fork_tree("persistent")
    assert interpreter.run_block("import random\nrandom.__spec__.origin == random.__file__").result == "True"
    assert interpreter.run_block("import sys\nsys.modules['random'] is random").result == "True"
