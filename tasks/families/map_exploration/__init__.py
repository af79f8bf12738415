"""Map exploration: collect gold on a hidden map, within an energy.

Read `family.py` first. The state that an agent carries is a graph that grows with every place.

What must stay true: the reference solution scores 1 and an idle agent 0, for every seed
(`tests/tasks/families/test_shipped.py`).
"""
