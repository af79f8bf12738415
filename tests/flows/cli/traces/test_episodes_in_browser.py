"""Episodes and pairs of them as a reader's browser shows them."""

import json

import pytest

from tests.flattening import flat
from tests.flows.cli.viewer_pages import count, show, text
from tests.flows.cli.viewer_server import served
from tests.tasks.viewer.viewer_home import make_viewer_home, played, unread_rows

pytestmark = pytest.mark.browser


def test_a_deep_link_opens_the_turn(page, address):
    show(page, f"{address}#/episode/ps1?turn=2")
    assert page.ask("document.querySelector('.turn.current').id") == "turn-2"
    assert text(page, ".turn.current p.missing") == ["items is missing: lost at the end of step 1."]
    page.wait("document.querySelector('h1').textContent === 'P→S · instance instance-1'")


def test_every_step_and_every_turn_of_a_pair_has_a_url(page, address):
    show(page, f"{address}#/episode/ps1?step=3")
    assert page.ask("document.querySelector('.turn.current').id") == "turn-3"
    page.ask("document.querySelectorAll('.lane thead button')[1].click()")
    page.wait("location.hash === '#/episode/ps1?step=2'")
    show(page, f"{address}#/compare/ps1/pp1?turn=2")
    assert page.ask("document.querySelector('.turn.current').id") == "left-turn-2"


def test_each_turn_tells_the_budget_that_is_left(page, address):
    show(page, f"{address}#/episode/ps1")
    left = [fact for fact in text(page, ".turn > header div") if "left" in fact]
    assert left == flat((f"turns left{10 - turn}", "inspections left4") for turn in (1, 2, 3))


def test_the_state_lane_shows_what_became_of_the_name(page, address):
    show(page, f"{address}#/episode/ps1")
    assert text(page, ".lane tbody th") == ["items"]
    assert page.ask("document.querySelectorAll('.lane td')[1].title") == (
        "step 2: read, but missing; lost at the end of step 1"
    )
    assert count(page, ".lane td.missing") == 1


def test_keys_move_through_an_episode(page, address):
    show(page, f"{address}#/episode/ps1")
    page.press("j")
    page.press("j")
    page.wait("document.querySelector('.turn.current')?.id === 'turn-2'")
    page.press("k")
    page.wait("document.querySelector('.turn.current')?.id === 'turn-1'")
    page.press("m")
    page.wait("document.querySelector('.turn.current')?.id === 'turn-2'")
    page.press("?")
    page.wait("document.querySelector('dialog')?.open === true")
    page.press("Escape")
    page.wait("document.querySelector('dialog')?.open !== true")
    page.press("/")
    page.wait("document.activeElement.type === 'search'")
    page.ask("document.activeElement.blur()")
    page.press("r")
    page.wait("document.querySelectorAll('pre.raw').length === 4")
    assert '"runtime_events"' in text(page, "pre.raw")[-1]
    page.press("c")
    page.wait("location.hash === '#/compare/ps1/pp1'")


def search(page, words):
    field = "document.querySelector('.find input')"
    page.ask(f"{field}.value = {json.dumps(words)}; {field}.dispatchEvent(new Event('input', {{bubbles: true}}))")
    page.wait("document.querySelector('[role=status]') !== null")
    return text(page, "[role=status]")[0]


def test_a_search_finds_what_is_written_and_no_key(page, tmp_path):
    rows = played("quoted", "persistent", "persistent", "instance-1", ['d = {"a": 1}\nd["a"]'])
    with served(make_viewer_home(tmp_path, 1, more=rows) / "warehouse.duckdb") as address:
        show(page, f"{address}#/episode/quoted")
        assert search(page, 'd["a"]') == "1 of 1 turns"
        show(page, f"{address}#/episode/quoted")
        assert search(page, "prompt_tokens") == "0 of 1 turns"


def test_an_aligned_cell_of_four_contracts_is_compared_within_the_2x2(page, tmp_path):
    more = played("a", "persistent", "injected", "instance-1")
    with served(make_viewer_home(tmp_path, 1, more=more) / "warehouse.duckdb") as address:
        show(page, f"{address}#/episode/pp1")
        page.wait("document.querySelector('.actions a.button') !== null")
        assert text(page, ".actions a.button") == ["Compare with P→S"]


def test_letter_keys_can_be_turned_off(page, address):
    show(page, f"{address}#/episode/ps1")
    page.press("?")
    page.ask("document.querySelector('dialog input[type=checkbox]').click()")
    page.press("Escape")
    page.press("r")
    page.press("?")
    assert count(page, "pre.raw") == 0
    assert page.ask("document.querySelector('dialog').open") is False
    page.ask("document.querySelector('dialog input[type=checkbox]').click()")
    page.press("r")
    page.wait("document.querySelectorAll('pre.raw').length === 4")
    page.ask("localStorage.clear()")


def test_unread_code_is_said_to_be_not_judged(page, tmp_path):
    with served(make_viewer_home(tmp_path, 1, more=unread_rows()) / "warehouse.duckdb") as address:
        show(page, f"{address}#/episode/unread")
        assert text(page, "p.lint") == ["not judged: the lint cannot read this code"]


def test_two_episodes_part_at_the_first_difference(page, address):
    show(page, f"{address}#/compare/ps1/pp1")
    page.wait("document.querySelector('nav.pairs') !== null")
    assert text(page, "h1") == ["P→S beside P→P · instance instance-1"]
    assert text(page, ".fold") == ["1 equal turn before"]
    assert page.ask("document.querySelector('.pair.parting').id") == "row-1"
    assert "1.45 times the tokens" in text(page, "p.lead")[0]
    assert text(page, ".ended") == ["P→P has ended."]
    page.press("n")
    page.wait("location.hash === '#/compare/ps2/pp2'")


def test_a_pair_tells_tokens_and_lines_of_each_turn(page, address):
    show(page, f"{address}#/compare/ps1/pp1")
    assert text(page, ".actions button")[0] == "First difference: step 2"
    assert text(page, "#row-1 .difference span") == ["tokens 110 and 110", "the error differs", "code equal"]
    show(page, f"{address}#/compare/ps1/ss1")
    assert text(page, "#row-0 .difference span") == ["tokens 110 and 110", "code 1 line differs"]
