"""What a block's rich results are, in this process."""

import base64
from types import SimpleNamespace

import pytest

from carryover.tasks.runtime.inside import showing as module
from carryover.tasks.runtime.inside.showing import Showing

METHODS = {
    "text/html": "_repr_html_", "text/markdown": "_repr_markdown_", "text/latex": "_repr_latex_",
    "image/svg+xml": "_repr_svg_", "image/png": "_repr_png_", "image/jpeg": "_repr_jpeg_",
}  # fmt: skip


def rich(**forms):
    """Return an object with rich forms by method: their content, or an error to raise."""

    def method(content):
        def give(_self):
            if isinstance(content, Exception):
                raise content
            return content

        return give

    methods = {name: method(content) for name, content in forms.items()}
    return type("Rich", (), methods | {"__repr__": method("Rich()")})()


@pytest.fixture
def showing():
    showing = Showing()
    showing.is_watched = True
    return showing


def test_every_form_is_kept_by_its_type(showing):
    png = base64.b64encode(b"png").decode()
    forms = dict.fromkeys(METHODS.values(), "text") | {"_repr_png_": png, "_repr_jpeg_": b"jpeg"}
    showing.add(rich(**forms), "Rich()")
    texts = dict.fromkeys(("text/html", "text/markdown", "text/latex", "image/svg+xml"), "text")
    assert showing.results == [{"text/plain": "Rich()", **texts, "image/png": b"png", "image/jpeg": b"jpeg"}]


def test_forms_that_fail_or_are_odd_are_left_out(showing):
    showing.add(rich(_repr_html_=ValueError(), _repr_png_="not base64!", _repr_svg_=3, _repr_latex_="x"), "Rich()")
    assert showing.results == [{"text/plain": "Rich()", "text/latex": "x"}]
    showing.add(rich(_repr_html_=None), "Rich()")
    showing.add(rich(), "Rich()")
    assert len(showing.results) == 1


@pytest.mark.parametrize("value", [True, 1, 1.5, 1j, "a", b"a", [], (), {}, set(), frozenset(), None])
def test_plain_values_have_no_rich_form(showing, value):
    showing.add(value, repr(value))
    assert showing.results == []


def test_display_prints_and_shows_only_to_a_watcher(showing, capsys):
    shown = rich(_repr_html_="<b>")
    showing.display(shown, 3, anything="else")
    assert capsys.readouterr().out == "Rich()\n3\n"
    assert showing.results == [{"text/plain": "Rich()", "text/html": "<b>"}]
    unwatched = Showing()
    unwatched.display(shown)
    assert (capsys.readouterr().out, unwatched.results) == ("Rich()\n", [])


def test_results_are_bounded_in_number_and_size(showing, monkeypatch):
    monkeypatch.setattr(module, "_COUNT_LIMIT", 2)
    monkeypatch.setattr(module, "_SIZE_LIMIT", 6)
    for content in ("abc", "abc", "a"):
        showing.add(rich(_repr_html_=content), "a long text")
    assert showing.results == [{"text/plain": "a long", "text/html": "abc"}] * 2
    showing.begin_block()
    assert showing.results == []
    for content in ("abcdef", "a"):
        showing.add(rich(_repr_html_=content), "t")
    assert showing.results == [{"text/plain": "t", "text/html": "abcdef"}]


class Figure:
    """Drawn as its number in the wanted format."""

    def __init__(self, number):
        self.number = number

    def __repr__(self):
        return f"Figure {self.number}"

    def savefig(self, content, *, format, bbox_inches):
        content.write(f"{format} {self.number} {bbox_inches}".encode())


@pytest.fixture
def pyplot(monkeypatch):
    """Two open figures of a library that was imported."""
    figures = {1: Figure(1), 2: Figure(2)}
    closed = []
    pyplot = SimpleNamespace(
        get_fignums=lambda: [*figures], figure=figures.__getitem__, close=closed.append, closed=closed, figures=figures
    )
    monkeypatch.setitem(module.sys.modules, "matplotlib.pyplot", pyplot)
    monkeypatch.setitem(module.sys.modules, "matplotlib.figure", SimpleNamespace(Figure=Figure))
    return pyplot


def drawn(number):
    return {
        "text/plain": f"Figure {number}", "image/png": f"png {number} tight".encode(),
        "image/svg+xml": f"svg {number} tight",
    }  # fmt: skip


def test_open_figures_are_shown_once_and_closed(showing, pyplot):
    showing.display(pyplot.figures[1])
    showing.finish_block()
    assert showing.results == [drawn(1), drawn(2)]
    assert pyplot.closed == ["all"]
    showing.begin_block()
    showing.finish_block()
    assert showing.results == [drawn(1), drawn(2)]


def test_figures_stay_open_where_nobody_watches(pyplot):
    unwatched = Showing()
    unwatched.finish_block()
    assert (unwatched.results, pyplot.closed) == ([], [])
