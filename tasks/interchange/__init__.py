"""Traces in others' formats, in and out, with declared contracts."""
