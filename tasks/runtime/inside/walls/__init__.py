"""Walls that a sandboxed process raises around itself.

Read `confine.py` first: limits, dropped rights, Landlock, and seccomp over the calls of `syscalls.py`. `mounting.py`
gives an episode files of its own.

What must stay true: a wall stands before any block runs, and no block takes one down
(`tests/tasks/runtime/attacks`).
"""
