"""How findings are printed."""

from typing import Literal

TableLayout = Literal["rich", "markdown", "csv"]
LintFormat = Literal[TableLayout, "json", "html"]
"""A table for a screen, as Markdown or CSV; JSON with the verdict; a self-contained page."""
