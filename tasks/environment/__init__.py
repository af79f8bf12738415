"""One environment for every trainer, stepped from outside.

Read `block_environment.py` first. It depends on no trainer; an adapter is one file each and imports its package inside
functions.

What must stay true: the conversation and the score are those of the study's machine, the reward comes from the
environment's state and never from text, and `reset` and `close` leave nothing behind (`tests/tasks/environment`).
"""
