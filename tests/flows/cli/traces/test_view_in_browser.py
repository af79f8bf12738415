"""The viewer as a reader's browser shows it: headless Chromium, served and from a file."""

import json

import pytest

from tests.flows.cli.axe_core import AXE
from tests.flows.cli.calling import run
from tests.flows.cli.viewer_pages import WIDE, count, show, text
from tests.flows.cli.viewer_server import served
from tests.tasks.viewer.viewer_home import (
    make_viewer_home,
    played,
    scripted_rows,
)

pytestmark = pytest.mark.browser
NARROW = 390
ERRORS = ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown")
PLACES = ("#/", "#/episode/ps1?turn=2", "#/compare/ps1/pp1", "#/tables", "#/figures", "#/training", "#/suites", "#/run")


@pytest.fixture(scope="module")
def bundles(viewer_home, tmp_path_factory):
    folder = tmp_path_factory.mktemp("bundles")
    run("view", "--home", viewer_home, "--plan", "plan", "--out", folder / "study.html")
    run("view", "--home", viewer_home, "--plan", "plan", "--out", folder / "study")
    return {"file": f"file://{folder}/study.html", "folder": f"file://{folder}/study/index.html"}


@pytest.fixture(scope="module")
def axe():
    return AXE.read_text(encoding="utf-8")


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("width", [NARROW, WIDE, 1920])
def test_pages_ask_loopback_alone_and_report_no_error(page, address, place, width):
    show(page, address + place, width)
    asked = {request["request"]["url"] for request in page.reported("Network.requestWillBeSent")}
    assert {url for url in asked if not url.startswith((address, "data:"))} == set()
    assert page.reported(*ERRORS) == []
    assert page.ask("document.documentElement.scrollWidth") <= width


def test_a_number_leads_to_the_episodes_behind_it(page, address):
    show(page, f"{address}#/")
    page.ask("[...document.querySelectorAll('.cell')].find(e => e.textContent.includes('P→S')).id = 'chosen'")
    page.ask("document.querySelector('#chosen .measure a').click()")
    page.wait("document.querySelector('#episodes').textContent.startsWith('2 episodes')")
    assert text(page, ".list .box [role=cell]:nth-child(2)") == ["P→S", "P→S"]
    assert "condition=P-%3ES" in page.ask("location.hash")


def test_the_cells_of_a_contract_of_ones_own_are_shown(page, tmp_path):
    trained = played("trained", "recent-1", "persistent", "instance-1")
    ran = played("ran", "persistent", "recent-1", "instance-1")
    home = make_viewer_home(tmp_path, more=trained + ran)
    with served(home / "warehouse.duckdb") as address:
        show(page, f"{address}#/")
        cells = text(page, ".cell h3")
    assert {"recent-1→P", "P→recent-1", "P→S"} <= set(cells)


def test_filters_narrow_the_list_and_stand_in_the_url(page, address):
    show(page, f"{address}#/?finish_reason=max_turns&score=0..0.6")
    assert text(page, "#episodes")[0].startswith("2 episodes")
    page.ask("[...document.querySelectorAll('button')].find(e => e.textContent === 'Clear').click()")
    page.wait("document.querySelector('#episodes').textContent.startsWith('9 episodes')")
    page.ask("[...document.querySelectorAll('.facets label')].find(e => e.textContent.startsWith('max turns')).click()")
    page.wait("location.hash.includes('finish_reason=max_turns')")
    assert text(page, "#episodes")[0].startswith("2 episodes")


def test_an_sql_condition_filters_and_its_error_is_told(page, address):
    show(page, f"{address}#/?where=missing_name_count%20%3E%200")
    page.wait("document.querySelector('#episodes').textContent.startsWith('2 episodes')")
    show(page, f"{address}#/?where=scor%20%3E%200")
    page.wait("document.querySelector('.filters .failure') !== null")
    assert "scor" in text(page, ".filters .failure")[0]


def test_a_brush_over_a_distribution_selects(page, address):
    show(page, f"{address}#/")
    box = page.ask(
        "(() => { const e = [...document.querySelectorAll('.histogram')].find(e => e.textContent.startsWith('score'))"
        ".querySelector('svg'); e.scrollIntoView({block: 'center'}); const b = e.getBoundingClientRect();"
        "return [b.left, b.top, b.width, b.height]; })()"
    )
    left, top, width, height = box
    page.drag((left + 1, top + height / 2), (left + width / 2, top + height / 2))
    page.wait("location.hash.includes('score=')")
    page.wait("document.querySelector('#episodes').textContent.startsWith('2 episodes')")


def test_an_episode_opens_from_the_list_by_keys(page, address):
    show(page, f"{address}#/?condition=P-%3ES")
    page.wait("document.querySelector('#episodes').textContent.startsWith('2 episodes')")
    page.press("j")
    page.wait("document.querySelector('.row.chosen') !== null")
    page.ask("document.querySelector('.list .head button').focus()")
    page.press("Enter")
    assert page.ask("location.hash").startswith("#/?condition")
    page.ask("document.activeElement.blur()")
    page.press("Enter")
    page.wait("location.hash === '#/episode/ps1'")


def test_a_tab_is_named_after_its_page(page, address):
    show(page, f"{address}#/episode/ps1")
    page.wait("document.title === 'P→S · instance instance-1 · Carryover'")
    page.ask("location.hash = '#/training'")
    page.wait("document.title === 'Training · Carryover'")


def test_losses_of_a_training_are_drawn(page, address):
    show(page, f"{address}#/training")
    page.wait("document.querySelector('.charts canvas') !== null")


def test_a_bundle_links_only_to_episodes_that_it_holds(page, viewer_home, address, tmp_path):
    linked = "[...document.querySelectorAll('td.ids a')].map(each => each.textContent)"
    show(page, f"{address}#/training")
    assert page.ask(linked) == ["pp1", "pp2"]
    run(
        "view",
        "--home",
        viewer_home,
        "--plan",
        "plan",
        "--where",
        "instance_id = 'instance-1'",
        "--out",
        tmp_path / "few.html",
    )
    show(page, f"file://{tmp_path}/few.html#/training")
    page.wait("document.querySelector('td.ids a') !== null")
    assert page.ask(linked) == ["pp1"]
    assert text(page, "td.ids span") == ["pp2"]


def test_foreign_traces_stand_beside_no_published_table(page, tmp_path):
    messages = [{"role": "user", "content": "Count."}, {"role": "assistant", "content": "```python\nx = 1\n```"}]
    (tmp_path / "t.jsonl").write_text(json.dumps({"messages": messages}))
    run("view", tmp_path / "t.jsonl", "--out", tmp_path / "t.html")
    show(page, f"file://{tmp_path}/t.html")
    assert text(page, ".top nav a") == ["Study", "Run"]
    page.ask("document.querySelector('.list .box a').click()")
    page.wait("document.querySelector('.facts') !== null")
    assert "ended bynot told" in text(page, ".facts div")


@pytest.mark.parametrize("kind", ["file", "folder"])
@pytest.mark.parametrize("place", PLACES)
def test_a_bundle_opens_from_the_disk(page, bundles, kind, place):
    show(page, bundles[kind] + place)
    assert page.reported(*ERRORS) == []
    asked = {request["request"]["url"] for request in page.reported("Network.requestWillBeSent")}
    assert {url for url in asked if not url.startswith(("file://", "data:"))} == set()
    if kind == "file":
        assert len(asked - {url for url in asked if url.startswith("data:")}) == 1


@pytest.mark.parametrize("source", ["served", "file", "folder"])
def test_hostile_text_is_shown_and_never_run(page, address, bundles, source):
    root = address if source == "served" else bundles[source]
    show(page, f"{root}#/episode/hostile")
    assert page.ask("window.hacked") is None
    shown = page.ask("document.querySelector('main').textContent")
    signs = ("␛[31m", "⟨U+202E⟩", "⟨U+D800⟩", "⟨U+061C⟩")
    for word in ("<script>window.hacked", "</script>", "<img src=x onerror", *signs, "שלום"):
        assert word in shown
    assert "all 1,000,0" in shown  # the line of a megabyte is cut
    assert "all 1,500,0" in shown  # and so is the error of a megabyte and a half
    assert page.ask("/[\\u001b\\u202e\\u061c]/.test(document.querySelector('main').textContent)") is False
    assert count(page, "main img, main script, main b[onclick]") == 0
    assert page.reported(*ERRORS) == []


@pytest.mark.parametrize(("scheme", "is_dark"), [("light", False), ("dark", True)])
def test_pages_follow_the_screen_and_the_button(page, address, scheme, is_dark):
    page.prefer(scheme)
    show(page, f"{address}#/")
    shade = "Number(getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0])"
    assert (page.ask(shade) < 60) == is_dark
    page.ask("document.querySelector('button.theme').click()")
    page.wait(f"({shade} < 60) === {json.dumps(not is_dark)}")
    page.ask("localStorage.clear()")
    page.prefer("light")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_pages_pass_axe_at_level_aa(page, address, axe, scheme, width):
    page.prefer(scheme)
    rules = json.dumps({"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]})
    told = "v => v.id + ': ' + v.nodes.map(n => n.target.join(' ') + ' ' + n.failureSummary).join(' | ')"
    found = {}
    for place in PLACES:
        show(page, address + place, width)
        page.ask(f"{axe}; 0")
        found[place] = page.ask(f"axe.run(document, {rules}).then(found => found.violations.map({told}))")
    page.prefer("light")
    assert found == {place: [] for place in PLACES}


def test_a_failed_case_shows_expected_beside_found(page, address):
    show(page, f"{address}#/suites?suite=types")
    assert text(page, ".case tr.wrong th, .case tr.wrong td") == ["total", "3", '"three"']
    assert text(page, ".case .reasons li") == ["not told: done"]
    assert text(page, ".case summary") == ["1 name as expected"]


def test_charts_of_a_suite_are_drawn(page, address):
    show(page, f"{address}#/suites?suite=data_intensive")
    assert count(page, ".case svg.drawing polyline") == 1
    assert page.ask("document.querySelector('.drawing').getAttribute('aria-label')") == (
        "chart, expected: line of 2 points"
    )


def test_a_chart_s_colours_change_with_the_theme(page, address):
    show(page, f"{address}#/suites?suite=data_intensive")
    stroke = "getComputedStyle(document.querySelector('.drawing polyline')).stroke"
    light = page.ask(stroke)
    page.ask("document.querySelector('button.theme').click()")
    page.wait(f"{stroke} !== {json.dumps(light)}")
    page.ask("localStorage.clear()")


def test_a_dark_page_is_printed_light_and_without_controls(page, address):
    page.prefer("dark", media="print")
    show(page, f"{address}#/episode/ps1")
    assert page.ask("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    for selector in (".top", ".actions"):
        assert page.ask(f"getComputedStyle(document.querySelector('{selector}')).display") == "none"
    page.prefer("light")


def test_every_number_of_a_cell_is_a_link(page, address):
    show(page, f"{address}#/")
    numbers = "[...document.querySelectorAll('.cell .measure dd:not(.bar), .cell .counts')]"
    assert page.ask(f"{numbers}.length") == 16
    assert page.ask(f"{numbers}.every(each => each.querySelector('a') !== null)")


def test_every_number_of_a_cell_without_a_model_is_a_link(page, tmp_path):
    with served(make_viewer_home(tmp_path, 1, more=scripted_rows()) / "warehouse.duckdb") as address:
        show(page, f"{address}#/")
        numbers = "[...document.querySelectorAll('.others tbody td:nth-child(n+4)')]"
        assert page.ask(f"{numbers}.length") == 5
        assert page.ask(f"{numbers}.every(each => each.querySelector('a') !== null)")
