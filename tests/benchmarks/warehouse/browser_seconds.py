"""Seconds that a reader waits for a page, by the browser's own clock."""

from tests.flows.cli.chromium import Page


def shown_at(page: Page, condition: str) -> float:
    """Return the seconds from the start of loading until a condition holds."""
    return page.ask(_until(condition)) / 1000


def seconds_until(page: Page, action: str, condition: str) -> float:
    """Return the seconds from an action until the browser has drawn what it leads to."""
    start = page.ask(f"(() => {{ const start = performance.now(); {action}; return start; }})()")
    return (page.ask(_until(condition)) - start) / 1000


def _until(condition: str) -> str:
    look = f"() => {condition} ? requestAnimationFrame(() => done(performance.now())) : setTimeout(look, 5)"
    return f"new Promise(done => {{ const look = {look}; look(); }})"
