"""One module per documented layout, each with `LAYOUT`, `JOINS_RECORDS`, `detect` and `read`.

Read `transcript.py` first, a short one. `tasks/readers/reader.py` lists them in the order in which they are asked.

What must stay true: a layout is recognised by its content, and each reader has a made-up file of its own
(`tests/tasks/readers/made_up_layouts.py`, read by `test_layouts.py`).
"""
