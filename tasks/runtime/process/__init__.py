"""The host's side of a sandbox process: messages, watching, and its end.

Read `node.py` first, a process as its host sees it; `attend.py` answers a running block's tool calls and ends it at its
limits. `watcher.py` and `strays.py` look after memory and after what blocks left.

What must stay true: a process is ended by its handle, never by a number that another may have taken
(`tests/tasks/runtime/process/test_strays.py`).
"""
