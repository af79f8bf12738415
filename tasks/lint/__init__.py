"""Contract lint: what the code of agent traces assumes about its interpreter, found without a model."""
