"""SQL of the trace warehouse, as package data: one statement a file, named by what its rows are."""
