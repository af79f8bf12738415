"""The viewer over a million steps, timed in a browser: first screen, list, filters, an episode."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.benchmarks.warehouse.browser_seconds import seconds_until, shown_at
from tests.flows.cli.chromium import Page, open_page
from tests.flows.cli.viewer_server import served

STEPS = 1_000_000
GOALS = {"first screen": 1.0, "list": None, "a filter chosen": 1.0, "an SQL condition": 1.0, "an episode": 0.3}
"""Seconds of the clock at most; the list, below the first screen, has no goal."""
HAS_ROWS = "document.querySelector('.list .box [role=row]') !== null"
IS_NARROWED = f"document.querySelector('#episodes small') !== null && {HAS_ROWS}"


@pytest.mark.benchmark
@pytest.mark.browser
@pytest.mark.timeout(3600)
def test_viewer_at_a_million_steps(tmp_path, keep_figure):
    file = tmp_path / "warehouse.duckdb"
    script = Path(__file__).with_name("long_episodes.py")
    subprocess.run([sys.executable, str(script), str(file), str(STEPS)], check=True)
    with served(file) as address, open_page() as page:
        first = seconds_of_pages(page, address, row=0)
        again = seconds_of_pages(page, address, row=1)
    for what, goal in GOALS.items():
        keep_figure(f"viewer at {STEPS:,} steps, {what}", first[what], "s", at_most=goal)
        keep_figure(f"viewer at {STEPS:,} steps, {what}, in a second look", again[what], "s", at_most=goal)
    assert [*first] == [*GOALS]


def seconds_of_pages(page: Page, address: str, row: int) -> dict[str, float]:
    """Return what a reader waits for, in pages that are loaded anew; `row` of the list is opened."""
    page.show("about:blank", 1280)
    page.show(address, 1280)
    seconds = {
        "first screen": shown_at(page, "document.querySelectorAll('.cell').length >= 4"),
        "list": shown_at(page, HAS_ROWS),
    }
    page.ask("document.querySelector('.facets input').id = 'first'")
    seconds["a filter chosen"] = seconds_until(page, "document.querySelector('#first').click()", IS_NARROWED)
    page.ask("location.hash = '#/'")
    page.wait("document.querySelector('#episodes small') === null")
    condition = "location.hash = '#/?where=' + encodeURIComponent('score > 0.9')"
    seconds["an SQL condition"] = seconds_until(page, condition, IS_NARROWED)
    episode = page.ask(f"document.querySelectorAll('.list .box [role=row]')[{row}].querySelector('a').hash")
    page.show("about:blank", 1280)
    page.show(address + episode, 1280)
    seconds["an episode"] = shown_at(page, "document.querySelector('.turn') !== null")
    return seconds
