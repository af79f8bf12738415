"""CaveAgent's suites as families: questions about variables, judged by the state.

Read `family.py` first. The variables lie in the host, so that what is judged is the same under every contract.

What must stay true: the reference solution scores 1 and an idle agent 0, for every seed
(`tests/tasks/families/test_shipped.py`).
"""
