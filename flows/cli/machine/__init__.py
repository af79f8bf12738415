"""The commands that keep a machine going: doctor, serve, worker, and a Prefect server.

Read `doctor.py` first: what is installed, landed, damaged or unreachable here. `prefect_server.py` starts a server for
one command; `server_health.py` describes the configured one, and `automations.py` declares a file's automations on it.

What must stay true: a server that a command started ends with it (`tests/flows/cli/machine/test_prefect_server.py`).
"""
