"""Sandbox levels of the machine, and starts behind them."""
