"""The commands on traces and runtimes: lint, view, paired, probe, episode, diff, export.

Read `foreign.py` first: the rows of others' traces as a warehouse until it is closed, for `lint`, `view` and `paired`.
`exchange.py` writes episodes in others' formats; each other file is one command of `flows/cli/trace_commands.py`.

What must stay true: a file that cannot be read is named with what it lacks (`tests/flows/cli/test_bad_inputs.py`).
"""
