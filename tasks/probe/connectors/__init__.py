"""Runtimes by name, one connector a file; `choose.py` finds the one that a name, a class or a command means."""
