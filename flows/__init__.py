"""Flows: one per file, a screen each, that names its steps.

Read `reproduce_study.py` first. `stage_flows.py` makes a stage a flow that opens or joins a run, `prefect_flow.py`
names and tags flow runs and turns user errors into one line. `cli/` is the user's door, `api/` the library's.

A flow file bears no name of an installed module (`tests/test_architecture.py`), and every flow is a deployment
(`tests/flows/test_deployments.py`).
"""
