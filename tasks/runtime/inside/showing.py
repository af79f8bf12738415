"""Rich results of a block: displays, its value, open figures."""

import sys
from collections.abc import Iterator
from io import BytesIO
from typing import Any

_METHODS = {
    "text/html": "_repr_html_",
    "text/markdown": "_repr_markdown_",
    "text/latex": "_repr_latex_",
    "image/svg+xml": "_repr_svg_",
    "image/png": "_repr_png_",
    "image/jpeg": "_repr_jpeg_",
}
_PYPLOT = "matplotlib.pyplot"
_FIGURE = "matplotlib.figure"
_COUNT_LIMIT = 50
_SIZE_LIMIT = 16 << 20
"""Of a block's rich results: how many, and their bytes and characters together."""
_PLAIN = frozenset((bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset, type(None)))
"""Types without a rich form: most values of most blocks."""


class Showing:
    """Collects a block's rich results, where somebody watches."""

    def __init__(self) -> None:
        self.is_watched = False
        self.results: list[dict[str, str | bytes]] = []
        """By MIME type, in order."""
        self._size = 0
        self._figures: list[Any] = []
        """That were shown by this block already."""

    def begin_block(self) -> None:
        """Forget the block before."""
        if self._size or self._figures:  # what is not written to is not copied by a fork
            self.results = []
            self._figures = []
            self._size = 0

    def display(self, *objects: Any, **_options: Any) -> None:
        """Print each object's text; show its richer form to front ends."""
        for shown in objects:
            text = repr(shown)
            print(text)
            self.add(shown, text)

    def add(self, shown: Any, text: str) -> None:
        """Keep the rich form of an object that has one."""
        if not self.is_watched or type(shown) in _PLAIN or len(self.results) >= _COUNT_LIMIT:
            return
        found: dict[str, str | bytes] = {}
        for kind, content in _forms(shown):
            self._size += len(content)
            if self._size > _SIZE_LIMIT:
                return
            found[kind] = content
        if _is_figure(shown):
            self._figures.append(shown)
        if found:
            self.results.append({"text/plain": text[:_SIZE_LIMIT], **found})

    def finish_block(self) -> None:
        """Show and close open figures, as a notebook does."""
        pyplot = sys.modules.get(_PYPLOT)
        if pyplot is None or not self.is_watched:
            return
        for number in pyplot.get_fignums():
            figure = pyplot.figure(number)
            if not any(figure is shown for shown in self._figures):
                self.add(figure, repr(figure))
        pyplot.close("all")


def _is_figure(shown: Any) -> bool:
    module = sys.modules.get(_FIGURE)
    return module is not None and isinstance(shown, module.Figure)


def _forms(shown: Any) -> Iterator[tuple[str, str | bytes]]:
    """Return an object's rich forms by MIME type, without failing ones."""
    if _is_figure(shown):
        yield "image/png", _saved(shown, "png")
        yield "image/svg+xml", _saved(shown, "svg").decode("utf-8", "replace")
        return
    for kind, name in _METHODS.items():
        method = getattr(type(shown), name, None)
        if method is None:
            continue
        try:
            content = method(shown)
            if kind in ("image/png", "image/jpeg") and type(content) is str:
                content = _decoded(content)
        except Exception:  # noqa: BLE001 - an object's own code may raise anything
            continue
        if type(content) in (str, bytes):
            yield kind, content


def _decoded(text: str) -> bytes:
    from base64 import b64decode  # each library that is loaded makes all forks slower

    return b64decode(text)


def _saved(figure: Any, kind: str) -> bytes:
    content = BytesIO()
    figure.savefig(content, format=kind, bbox_inches="tight")
    return content.getvalue()
