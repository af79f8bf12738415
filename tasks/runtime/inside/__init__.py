"""The sandbox side: standard library alone, without the host side.

It works wherever it is mounted.
"""
