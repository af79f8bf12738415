"""Map exploration: a hidden graph of places with gold, where looking and walking cost energy.

Read `family.py` first. The state that an agent carries is a graph that grows with every place.
"""
