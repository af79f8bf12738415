"""Runtimes of other packages, run by `serve.py` in their environments.

Nothing here imports this package: a module imports the standard library, and in its methods the package that it probes.
"""
