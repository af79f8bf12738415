"""Walls that a sandboxed process raises around itself."""
