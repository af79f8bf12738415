"""Sandbox levels of the machine, and starts behind them.

Read `level.py` first: which of the four levels this machine has, tried once. `launch.py` starts a process behind one.

What must stay true: the level in force is the one on the trace (`tests/tasks/runtime/sandbox/test_level.py`).
"""
