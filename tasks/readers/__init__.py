"""Readers of agent traces in foreign layouts, behind one protocol."""
