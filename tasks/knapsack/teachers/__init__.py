"""Scripted teachers: policies that play through the same machine as a model.

Read `open.py` first: it chooses a policy by bucket and contract. `small.py` plays the small buckets, `density.py` Easy
and Hard, `injected.py` the contracts with injection; `plain.py` writes text that shows neither contract's idiom.
`habits.py` says what may differ from episode to episode.

What must stay true: what a teacher writes is a function of the conversation and its habits alone, and both contracts
take the same items (`test_small.py`, `test_density.py`, `test_habits.py`).
"""
