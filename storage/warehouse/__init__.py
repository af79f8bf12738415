"""DuckDB warehouse: one merger writes it, everybody else reads a copy."""
