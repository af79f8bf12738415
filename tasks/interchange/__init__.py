"""Traces in others' formats, in and out, with declared contracts.

Read `formats.py` first: it writes episodes in one of the formats, `atif.py`, `chat.py` and `authors.py`, from rows that
`recorded.py` joins. Reading is the business of `tasks/readers`.

What must stay true: an export comes back as the same rows (`tests/tasks/interchange/test_formats.py`), and exports of
equal rows are equal (`test_chat.py`); the authors' scripts read theirs (`test_authors_scripts.py`).
"""
