"""Contract lint: what agents' code assumes about its interpreter.

Read `lint.py` first: it follows one trace block by block. `statements.py` reads the names of a block, `walk.py` and
`state.py` what it takes from earlier ones, `effects.py` and `shell.py` its state beyond names; `runtime.py` infers the
runtime from outcomes. `linting.py` is `carryover.lint`; `summary.py`, `tables.py` and `report.py` show a data set.

What must stay true: made-up traces of every layout get the verdict that they must
(`tests/tasks/readers/test_layouts.py`); no code of a trace is run; the core suffices (`test_core.py`).
"""
