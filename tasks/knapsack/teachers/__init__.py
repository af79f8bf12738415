"""Scripted teachers: deterministic policies that play through the same machine as a model.

Read `open.py` first: it chooses a policy by bucket and contract. `small.py` plays the small buckets, `density.py` Easy
and Hard, `injected.py` the contracts with injection; `plain.py` writes text that shows neither contract's idiom.

What must stay true: what a teacher writes is a function of the conversation alone, and both contracts take the same
items (`tests/tasks/knapsack/teachers`).
"""
