"""The sandbox side of the Jupyter backend.

Read `kernel.py` first: an ipykernel whose cells run through `StepRunner`, so that both backends run blocks alike.
"""
