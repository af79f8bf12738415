"""The `carryover` command line."""
