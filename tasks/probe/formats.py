"""How a probe report is printed."""

from typing import Literal

ProbeFormat = Literal["rich", "json", "markdown"]
"""A table for a screen, JSON with the verdict, or a Markdown table."""
