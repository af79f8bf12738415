"""SQL of the trace warehouse as package data."""
