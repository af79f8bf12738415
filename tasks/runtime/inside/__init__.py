"""The sandbox side: standard library alone, without the host side.

It works wherever it is mounted. Read `node.py` first, a process's message loop; `answers.py` reads and binds its
state, and `step.py` runs a block.
"""
