"""How findings are printed."""

from typing import Literal

LintFormat = Literal["rich", "markdown", "csv", "json", "html"]
"""A table for a screen, as Markdown or CSV; JSON with the verdict; a self-contained page."""
