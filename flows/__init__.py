"""Flows: one per file, each naming its steps."""
