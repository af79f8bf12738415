"""Connectors from the probe to runtimes, one a file.

Read `choose.py` first: it finds the connector of a name, a command, an MCP server or a class. Runtimes of other
packages run behind `foreign.py`, in the environment that holds them.

What must stay true: a connector reports what a caller of its runtime sees, and adds nothing
(`tests/tasks/probe/test_choose.py`, `test_foreign.py`).
"""
