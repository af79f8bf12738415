"""Statistics of a study, and how tables, figures and verdicts are shown.

Read `compute.py` first: it yields every statistic of a plan as rows of `statistics`. `alignment.py` lays episodes of
several arms on the same seeds and instances, `resampling.py` and `intervals.py` bootstrap them, `paired_tests.py` and
`decisions.py` hold the tests and Holm's correction. `queries.py` finds the SQL files, `plan_tables.py` asks a plan's
tables; `rendering.py`, `figures.py` and `pictures.py` show what they return. `recomputed.py` and `claims.py` check the
published numbers.

What must stay true: pairs stay together in every resample (`tests/tasks/analysis/test_intervals.py`); an untestable
comparison stays in Holm's family (`test_decisions.py`); counting and averaging is SQL, mathematics with a name is here.
"""
