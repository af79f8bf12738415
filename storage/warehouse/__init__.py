"""DuckDB warehouse: one merger writes it, everybody reads a published copy."""
