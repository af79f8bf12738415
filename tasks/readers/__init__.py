"""Readers of agent traces in foreign layouts, behind one protocol.

Read `reader.py` first: a reader is a module with `detect` and `read`, and `trace.py` what it returns. Each layout is
one file of at most sixty lines in `layouts/`; `conversation.py` reads the chat messages that most of them hold,
`source_code.py` and `outputs.py` the code and its outcome. `reading.py` finds the reader of a file's records;
`importing.py` and `episode_rows.py` make rows of what was read.

What must stay true: code and outcomes of every layout are read (`tests/tasks/readers/test_layouts.py`); what is not
read is counted with its reason; every layout is imported with steps and errors (`test_importing.py`).
"""
