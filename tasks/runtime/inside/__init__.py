"""The sandbox side: standard library alone, without the host side.

It works wherever it is mounted. Read `node.py` first, a process's message loop; `answers.py` reads and binds its
state, and `step.py` runs a block.

What must stay true: a block finds here no name, object or descriptor of its host that it could use
(`tests/tasks/runtime/attacks`), and a stateless step remembers nothing of an earlier one (`test_channels.py`).
"""
