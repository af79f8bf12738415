"""Examples that run without an endpoint: `python -m tasks.cave.examples.town`."""
