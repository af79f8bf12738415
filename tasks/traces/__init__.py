"""Rows of recorded episodes, and the events parsed from their code.

Read `rows.py` first: a row model is the only place where a table's columns are declared, and `tables.py` lists the
models. `vocabulary.py` holds each closed choice once: contracts, splits, scales, reasons to stop. `walker.py` and
`events.py` read names, imports and call sites from a block of code.

The landing zone's schema follows the models (`tests/storage/zone/test_schemas.py`); events follow the rules of appendix
F of arXiv 2603.01209 (`tests/tasks/traces/test_events.py`).
"""
