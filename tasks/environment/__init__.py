"""One environment for every trainer, stepped from outside.

Read `block_environment.py` first. It depends on no trainer; an adapter is one file each and imports its package inside
functions.

What must stay true: conversation and score are those of the study's machine on every trainer
(`test_equal_episodes.py`), the reward comes from the environment's state and never from text, and `reset` and `close`
leave nothing behind (`test_block_environment.py`).
"""
