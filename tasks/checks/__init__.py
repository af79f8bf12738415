"""Data checks that gate a stage, by Great Expectations.

Read `suites.py` first, the whole room: a suite is a frame with its checks, and a run of suites returns one row per
check. Great Expectations loads inside functions: importing it takes seconds.

What must stay true: a check that cannot be evaluated is an error, never a pass (`tests/tasks/checks/test_suites.py`).
"""
