"""The sandbox side of the Jupyter backend."""
