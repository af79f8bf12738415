"""Values that cross the sandbox as plain data and Arrow streams.

Read `tree.py` first: a value becomes a tree of plain parts, with arrays and frames as Arrow streams beside it.
`portable.py` says what travels, `instances.py` how an object goes without running code of its class.

What must stay true: a value comes back equal and of its type, or is refused by name; nothing is unpickled
(`tests/tasks/runtime/inside/values`).
"""
