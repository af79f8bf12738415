"""Task families: the problems that a study's episodes are played on.

Read `family.py` first: a family of one's own is one file with a subclass of `Family`; `carryover family new NAME`
writes a whole one from `family.py.jinja`. `choose.py` finds a family by name, `own_family.py` gives it to the study,
`check.py` checks one without a model. The Opaque Knapsack lies in `tasks/knapsack`.

What must stay true: an environment lives on the host and only its tools reach a block; the reference solution scores 1
and doing nothing 0, for every seed (`test_check.py`, `test_shipped.py`).
"""
