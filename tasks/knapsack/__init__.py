"""The Opaque Knapsack: task family of arXiv 2603.01209, section 3.

Read `family.py` first: it gives an episode all that it needs of a problem. `sampling.py` draws and solves instances,
`environment.py` is the world behind four tools, `prompts/` tells the problem, and `teachers/` plays it by script.

What must stay true: the environment lives on the host, and no hidden value reaches a prompt or the sandbox
(`tests/tasks/agent/test_hidden_values.py`); replaying an optimal set scores 1 (`test_validate.py`).
"""
