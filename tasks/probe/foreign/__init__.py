"""Runtimes of other packages, run by `serve.py` in their environments.

Read `serve.py` first: it reads a block per line and answers with what its caller would see. Each other module is one
runtime.

What must stay true: nothing here imports Carryover, which those environments lack. A module imports the standard
library, and in its methods the package that it probes (`test_foreign.py`).
"""
