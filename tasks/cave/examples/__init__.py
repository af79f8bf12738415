"""Examples that run without an endpoint: `python -m carryover.tasks.cave.examples.town`."""
