"""The report as a reader's browser shows it: the viewer's pages in one file, on a phone and on a desk."""

import pytest

from tests.flows.cli.calling import import_records, run

BLOCKS = ("import json\nids = json.loads(list_items())", "print(len(ids))\nfinish()")
WIDTHS = (390, 1280)
PLACES = ("#/", "#/tables", "#/figures", "#/run")


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The report about four imported cells of three episodes each."""
    home = tmp_path_factory.mktemp("report") / "data"
    messages = [{"role": "user", "content": "Pack."}]
    for block in BLOCKS:
        messages += [
            {"role": "assistant", "content": f"Go.\n```python\n{block}\n```"},
            {"role": "user", "content": "ok"},
        ]
    for train in ("persistent", "stateless"):
        for runtime in ("persistent", "stateless"):
            scores = (1.0, 0.5, 0.75) if train == runtime else (0.25, 0.5, 1.0)
            records = [
                {"instance_id": str(task), "score": score, "messages": messages} for task, score in enumerate(scores)
            ]
            import_records(home, records, "--contract", runtime, "--train-contract", train, "--plan", "cells")
    return run("report", "--plan", "cells", "--home", home).strip()


@pytest.fixture(scope="module")
def page():
    from tests.flows.cli.chromium import open_page

    with open_page() as page:
        yield page


def show(page, report, place, width):
    """Load a page anew, since a new fragment alone loads nothing, and wait until it is whole."""
    page.show("about:blank", width)
    page.show(f"file://{report}{place}", width)
    page.wait("!document.querySelector('.waiting') && document.querySelector('h1') !== null")


@pytest.mark.browser
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("place", PLACES)
def test_the_report_loads_itself_alone_and_fits_the_screen(page, report, place, width):
    show(page, report, place, width)
    asked = [request["request"]["url"] for request in page.reported("Network.requestWillBeSent")]
    assert [url.partition("#")[0] for url in asked if not url.startswith("data:")] == [f"file://{report}"]
    assert page.reported("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown") == []
    assert page.ask("document.documentElement.scrollWidth") == width


@pytest.mark.browser
def test_every_table_of_the_index_is_on_the_page(page, report):
    show(page, report, "#/tables", WIDTHS[1])
    names = "[...document.querySelectorAll('ul.index a')].map(a => a.getAttribute('href').split('/').at(-1))"
    listed = page.ask(names)
    assert page.ask("[...document.querySelectorAll('section.sheets')].map(e => e.id)") == [f"table-{n}" for n in listed]
    assert {"table_2", "table_7", "predictions", "claims", "claims_unverifiable", "claims_holds"} <= {*listed}
    assert "P→S" in page.ask("document.querySelector('#table-table_2 table').innerText")


@pytest.mark.browser
def test_figures_are_drawn_on_white(page, report):
    page.prefer("dark")
    show(page, report, "#/figures", WIDTHS[1])
    drawn = "[...document.querySelectorAll('figure img')]"
    assert page.wait(f"{drawn}.every(e => e.complete && e.naturalWidth > 0) && {drawn}.length") == 3
    assert page.ask(f"getComputedStyle({drawn}[0]).backgroundColor") == "rgb(255, 255, 255)"
    page.prefer("light")


@pytest.mark.browser
def test_a_report_lists_episodes_without_their_traces(page, report):
    show(page, report, "#/", WIDTHS[1])
    page.wait("document.querySelector('#episodes') !== null")
    assert page.ask("document.querySelector('#episodes').textContent") == "12 episodes"
    assert page.ask("document.querySelectorAll('.list .box a').length") == 0
    assert "holds no traces" in page.ask("document.querySelector('main').innerText")
