"""Rows of a recorded episode, and the events parsed from its code."""
