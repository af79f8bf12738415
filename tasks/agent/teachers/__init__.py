"""Scripted teachers: deterministic policies that play through the same loop as a model."""
