"""Carryover's environment for OpenEnv: its client, and the server's application."""
