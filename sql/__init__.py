"""SQL of the trace warehouse as package data, one statement a file."""
