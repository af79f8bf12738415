"""Log triage: find the values that make events of a log fail.

Read `family.py` first. The state that an agent carries is a hypothesis, narrowed step by step, and the events fetched.

What must stay true: the reference solution scores 1 and an idle agent 0, for every seed
(`tests/tasks/families/test_shipped.py`).
"""
