"""The `carryover` command line.

Read `main.py` first: the list of commands, one function each in the modules `*_commands.py`. `flow_commands.py` starts
flows, whose parameters `command.py` turns into options; `options.py` holds options that several commands share;
`folders.py` finds the data folder and the plan that a command reads. What a command does stands in three rooms:
`results/`, `traces/` and `machine/`. Prefect and DuckDB load when a command needs them.

An error is one line with the way out, never a traceback (`tests/flows/cli/test_bad_inputs.py`); every option, command
and file that a message names exists (`test_ways_out.py`).
"""
