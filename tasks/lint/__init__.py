"""Contract lint: what the code of agent traces assumes about its interpreter, told without a model."""
