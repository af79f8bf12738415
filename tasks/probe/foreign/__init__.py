"""Runtimes of other packages, each run by `serve.py` with the Python of the environment that holds its package.

Nothing here imports this package: a module imports the standard library, and in its methods the package that it probes.
"""
