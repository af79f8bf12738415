"""Rich results: figures, `display`, and the HTML and pictures of values; text for the model."""

import io

import pytest
from PIL import Image

from carryover.tasks.runtime import notices

FIGURE = "import matplotlib.pyplot as plt\nfigure, axes = plt.subplots()\naxes.plot([1, 2], [3, 4])\n"
RICH = "class Rich:\n    def __repr__(self): return 'plain'\n    def _repr_html_(self): return '<b>rich</b>'\n"


def kinds(result) -> list[list[str]]:
    return [sorted(shown.data) for shown in result.displays]


def test_display_prints_for_the_model_and_shows_for_the_watcher(open_files, contract):
    result = open_files(contract).run_block(f"{RICH}display(Rich(), 3)\nRich()")
    assert (result.output, result.result) == ("plain\n3\n", "plain")
    assert [shown.data for shown in result.displays] == [{"text/plain": "plain", "text/html": "<b>rich</b>"}] * 2
    assert [shown.step for shown in result.displays] == [1, 1]


@pytest.mark.parametrize("form", ["return 1 / 0", "return None", "return 3", "return [b'x']"])
def test_broken_rich_form_is_left_out(open_files, form):
    code = f"class Odd:\n    def _repr_html_(self): {form}\n    def __repr__(self): return 'odd'\nOdd()"
    result = open_files("persistent").run_block(code)
    assert (result.result, result.error, result.displays) == ("odd", None, ())


def test_picture_given_as_base64_arrives_as_bytes(open_files):
    code = "class Shown:\n    def _repr_png_(self): return 'aGVsbG8='\ndisplay(Shown())"
    (shown,) = open_files("persistent").run_block(code).displays
    assert shown.data["image/png"] == b"hello"


def test_rich_results_end_with_their_block(open_files):
    interpreter = open_files("persistent")
    interpreter.run_block(f"{RICH}Rich()")
    assert interpreter.run_block("1").displays == ()


def test_rich_results_are_bounded(open_files):
    result = open_files("persistent").run_block(f"{RICH}for _ in range(1000): display(Rich())")
    assert len(result.displays) == 50
    large = "class Large:\n    def _repr_html_(self): return 'x' * (17 << 20)\nLarge()"
    assert open_files("persistent").run_block(large).displays == ()


def test_study_without_a_folder_collects_nothing(open_one):
    result = open_one("persistent").run_block(f"{RICH}display(Rich())\nRich()")
    assert (result.output, result.result, result.displays) == ("plain\n", "plain", ())


def test_display_of_ipython_shows_to_the_watcher(open_files):
    interpreter = open_files("persistent")
    code = "from IPython.display import HTML, display\nx = 1\ndisplay(HTML('<b>bold</b>'))"
    result = interpreter.run_block(code)
    assert (result.error, result.output) == (None, "<IPython.core.display.HTML object>\n")
    assert [shown.data["text/html"] for shown in result.displays] == ["<b>bold</b>"]


def test_user_may_call_a_function_display(open_files):
    interpreter = open_files("persistent")
    assert interpreter.run_block("def display(board): return board").notices == ()
    assert interpreter.run_block("display(3)").result == "3"


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["", "plt.show()", "figure", "display(figure)", "1 / 0"])
def test_figure_travels_out_as_png_and_svg(open_files, contract, ending):
    interpreter = open_files(contract)
    result = interpreter.run_block(f"{FIGURE}{ending}")
    assert kinds(result) == [["image/png", "image/svg+xml", "text/plain"]]
    assert notices.FIGURES_SHOWN.format(count=1) in result.notices
    (shown,) = interpreter.figures()
    assert Image.open(io.BytesIO(shown.data["image/png"])).format == "PNG"
    assert "<svg" in shown.data["image/svg+xml"]
    assert interpreter.run_block("import matplotlib.pyplot as plt\nplt.get_fignums()").result == "[]"


@pytest.mark.slow
def test_frame_shows_html(open_files):
    result = open_files("persistent").run_block("import pandas\npandas.DataFrame({'a': [1]})")
    assert kinds(result) == [["text/html", "text/plain"]]


def test_slow_cache_of_fonts_is_told_to_nobody(open_files):
    interpreter = open_files("persistent")
    code = """
import logging
import matplotlib
log = logging.getLogger("matplotlib.font_manager")
log.warning("Matplotlib is building the font cache; this may take a moment.")
log.warning("findfont: Font family %r not found.", "Nowhere")
"""
    assert interpreter.run_block(code).output == "findfont: Font family 'Nowhere' not found.\n"
