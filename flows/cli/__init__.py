"""The person's door: the `carryover` command."""
