"""What several stages share and needs Prefect or storage.

Read `runs.py` first: a run opens with its plan and environment and lands how it ended. `stage_results.py` notes what a
plan has of a stage, `caching.py` reuses what another plan made, `attempts.py` tells which episodes are missing,
`spending.py` counts what they cost. `training_data.py`, `gate.py` with `plan_check.py`, `results.py` and `imports.py`
are steps that read and land rows of many tables.

A stage runs again where its identity is new or its result is gone (`tests/tasks/stages/test_caching.py`); every run has
an end, also one that was stopped (`test_runs.py`).
"""
