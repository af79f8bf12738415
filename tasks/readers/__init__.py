"""Readers of agent traces in the layouts of others, each behind one small protocol."""
