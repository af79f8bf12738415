"""Probe: what a Python runtime keeps, measured channel by channel.

Read `protocol.py` first: what a runtime offers. `channels.py` holds what is planted, `looking.py` plants and looks,
`probing.py` goes through the events, `inputs.py` and `hostile.py` add injected values and hostile blocks.
`promise.py` finds what a prompt promises, `verdict.py` judges, `report.py` and `published.py` show. `connectors/`
opens runtimes by name; `foreign/` runs in other packages' environments.

What must stay true: every planted fault is found (`tests/tasks/probe/test_probing.py`); the tests of our runtime use
the same channels; the core suffices; the README's tables are those of `reports/` (`test_published.py`).
"""
