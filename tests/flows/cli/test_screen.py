"""Text of traces on a terminal: shown, and never obeyed."""

import pytest

from carryover.flows.cli.screen import plain, screen, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\r\nb\tc\n", "a\nb\tc\n"),
        ("a\rb", "a␍b"),
        ("\x1b[31mred\x07", "␛[31mred␇"),
        ("\x00\x08\x0b\x1f", "␀␈␋␟"),
        ("\x7f\x80\x9f\xa0", "␡⟨U+0080⟩⟨U+009F⟩\xa0"),
        ("\u202etxt\u200b\ufeff\ud800", "⟨U+202E⟩txt⟨U+200B⟩⟨U+FEFF⟩⟨U+D800⟩"),
        ("für 数 \U0001f600 [bold]", "für 数 \U0001f600 [bold]"),
    ],
)
def test_controls_are_shown_as_signs(text, shown):
    assert visible(text) == shown
    assert plain(text).plain == shown


def test_text_has_the_style_that_it_is_given_and_no_markup():
    text = plain("[bold]x[/bold]", "red")
    assert (text.plain, text.style) == ("[bold]x[/bold]", "red")
    assert plain("x").style == ""


def test_a_console_colours_no_numbers_and_words_by_itself(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    console = screen()
    with console.capture() as shown:
        console.print("12 'a' True http://a")
    assert shown.get() == "12 'a' True http://a\n"


@pytest.mark.parametrize(("columns", "width"), [("77", 77), (None, 160)])
def test_a_console_is_as_wide_as_the_terminal(monkeypatch, columns, width):
    if columns is None:
        monkeypatch.delenv("COLUMNS", raising=False)
        monkeypatch.setattr("sys.__stdout__", None)
    else:
        monkeypatch.setenv("COLUMNS", columns)
    assert screen().width == width
    assert not screen().stderr
