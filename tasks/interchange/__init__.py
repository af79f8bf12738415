"""Traces in and out in the formats of others, with the contract declared in each."""
