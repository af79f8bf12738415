"""The commands on traces and runtimes: lint, view, paired, probe, episode, diff, export.

Read `view.py` first: it opens the warehouse, or that of others' traces, which `foreign.py` keeps until it is closed.
`exchange.py` writes episodes in others' formats, `replay.py` and `pair.py` print one episode or two; each other file is
one command of `flows/cli/trace_commands.py`.

What must stay true: a file that cannot be read is named with what it lacks (`tests/flows/cli/test_bad_inputs.py`).
"""
