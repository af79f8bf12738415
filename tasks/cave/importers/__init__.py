"""Suites from the user's own downloads; nothing is fetched."""
