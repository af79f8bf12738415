"""Runs inside the sandbox: standard library only, imports nothing of the host side, so that it works wherever it is mounted."""
