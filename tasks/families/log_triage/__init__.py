"""Log triage: find the values that make events of a log fail.

Read `family.py` first. The state that an agent carries is a hypothesis, narrowed step by step, and the events fetched.
"""
