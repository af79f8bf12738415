"""Reinforcement of trained models in a runtime: TRL's GRPO on episodes.

Read `grpo.py` first; `rollouts.py` plays an update's episodes side by side.

What must stay true: the reward comes from the environment's state alone, episodes depend on seeds and weights and on
nothing else, and a killed training goes on from its last checkpoint to the same updates (`test_grpo.py`).
"""
