"""Suites: seeded cases with golden programs for every turn.

Read `case.py` first: a case, its world and its turns. `catalogue.py` lists the suites; templates lie as TOML beside
their generators; `values.py` compares states as JSON.

What must stay true: equal seeds give equal cases, and no idle agent passes a turn (`test_cases.py`).
"""
