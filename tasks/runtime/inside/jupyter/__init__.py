"""The sandbox side of the Jupyter backend.

Read `kernel.py` first: an ipykernel whose cells run through `StepRunner`.

What must stay true: both backends run blocks alike (`test_conformance.py`).
"""
