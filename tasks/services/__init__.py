"""Services of every room: places, errors, limits, progress, digests.

Nothing here knows a problem, a plan or a row. Start with `errors.py` (a `UserError` is one line with the way out) and
`folders.py` (where a data folder and its landing zone lie).

A file written here is whole or absent (`tests/tasks/services/test_whole_files.py`). Comments and docstrings change no
digest of source, and what an import uses does (`test_source_digest.py`).
"""
