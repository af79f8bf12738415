"""The accessibility checker as `make browser` installs it."""

from pathlib import Path

AXE = Path(__file__).parents[3] / "node_modules/axe-core/axe.min.js"
