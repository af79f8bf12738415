"""Log triage: events too many to read behind budgeted queries, and one combination of values that makes them fail.

Read `family.py` first. The state that an agent carries is a hypothesis, narrowed step by step, and the events fetched.
"""
