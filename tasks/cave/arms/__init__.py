"""Arms: ways of one model to act (arXiv 2601.01569, section 4).

Read `arm.py` first for what the arms are, then `play.py`, which plays one case under one of them. `calling.py` is
native function calling as a speaker of the episode machine, `case_environment.py` the host's side of a case,
`oracle.py` the script that knows every solution; `statistics.py` and `costs.py` compare.

What must stay true: the oracle passes every case under every arm, and an idle model none (`test_play.py`).
"""
