"""The sandbox side: standard library only and nothing of the host side, so that it works wherever it is mounted."""
