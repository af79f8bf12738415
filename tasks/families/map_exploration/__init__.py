"""Map exploration: collect gold on a hidden map, within an energy.

Read `family.py` first. The state that an agent carries is a graph that grows with every place.
"""
