"""Connectors to runtimes, one a file; `choose.py` finds the right one."""
