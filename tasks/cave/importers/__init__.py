"""Suites of others, read from the user's own download: nothing is fetched.

Read `download.py` first: it opens a wheel or its folder and runs its simulators. `bfcl.py` and `bfcl_multi_turn.py`
read BFCL, with the rule of `bfcl_rule.py`; `tau2.py` reads tau2-bench as Inspect adapted it.

What must stay true: our verdicts agree with the wheel's own checker, but for the calls that `own_downloads.md` names
(`test_bfcl.py`, `test_bfcl_multi_turn.py`, `test_tau2.py`).
"""
