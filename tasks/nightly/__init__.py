"""A nightly re-evaluation: its episodes, and its verdicts on each model.

Read `night_spec.py` first for what a night plays, then `judge.py`, which compares each cell with its baseline.

What must stay true: equal replies, ends and scores are `identical`, and rounding is told from a change
(`tests/tasks/nightly/test_judge.py`); Holm's correction is over every cell of the night.
"""
