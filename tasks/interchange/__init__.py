"""Episodes exported in others' formats, with declared contracts.

Read `formats.py` first: it writes episodes in one of the formats, `atif.py`, `authors.py`, `chat.py`, `inspect_log.py`
and `openinference.py`, from rows that `recorded.py` joins. `python_tool.py` holds blocks as tool calls, with their
results. `tasks/readers` reads the formats back.

What must stay true: an export comes back as the same rows, from Inspect's and OpenInference's as replies and blocks
(`tests/tasks/interchange/test_formats.py`); exports of equal rows are equal (`test_chat.py`); the authors' scripts read
theirs (`test_authors_scripts.py`).
"""
