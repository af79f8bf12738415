"""SQL of the trace warehouse as package data, one statement a file.

Read `README.md` first: schemas, rules and the commands that print a relation's meaning. `staging` renames and reads,
`marts` measures, `tables` prints a table of a paper each, `checks` return the rows that break a rule.

What must stay true: every file binds against an empty warehouse (`tests/sql/test_binding.py`), and its rows are those
worked out by hand (`test_exact_rows.py`).
"""
