"""Landing zone, merger, migrations and reading of the trace warehouse."""
