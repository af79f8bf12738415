"""Pages of the viewer in a browser: load one, read its texts, count its elements."""

import json

WIDE = 1280


def show(page, url, width=WIDE):
    """Load a page anew, since a new fragment alone loads nothing, and wait until it is whole."""
    page.show("about:blank", width)
    page.show(url, width)
    page.wait("!document.querySelector('.waiting') && document.querySelector('h1') !== null")


def text(page, selector):
    return page.ask(f"[...document.querySelectorAll({json.dumps(selector)})].map(each => each.textContent)")


def count(page, selector):
    return page.ask(f"document.querySelectorAll({json.dumps(selector)}).length")
