"""The chart library as `make browser` installs it."""

from pathlib import Path

ECHARTS = Path(__file__).parents[4] / "node_modules/echarts/dist/echarts.min.js"
