"""Which walls the machine offers, and how to start a process behind them."""
