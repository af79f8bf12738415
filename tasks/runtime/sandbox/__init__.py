"""Sandbox levels of the machine, and the start of a process behind them."""
