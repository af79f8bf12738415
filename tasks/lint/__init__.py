"""Contract lint: what agents' code assumes about its interpreter."""
