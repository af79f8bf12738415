"""How a probe report is printed."""

from typing import Literal

ProbeFormat = Literal["rich", "json", "markdown", "html"]
"""A table for a screen, JSON with the verdict, a Markdown table, or a self-contained page."""
