"""The report as a reader's browser shows it: headless Chromium, on a phone and on a desk."""

import pytest

from tests.flows.cli.calling import import_records, run

BLOCKS = ("import json\nids = json.loads(list_items())", "print(len(ids))\nfinish()")
WIDTHS = (390, 1280)


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


@pytest.mark.browser
@pytest.mark.parametrize("width", WIDTHS)
def test_the_report_loads_itself_and_nothing_else(page, report, width):
    page.show(f"file://{report}", width)
    assert [request["request"]["url"] for request in page.reported("Network.requestWillBeSent")] == [f"file://{report}"]
    assert page.reported("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown") == []


@pytest.mark.browser
@pytest.mark.parametrize("width", WIDTHS)
def test_report_fits_the_screen_and_wide_parts_scroll(page, report, width):
    page.show(f"file://{report}", width)
    assert page.ask("document.documentElement.scrollWidth") == width
    overflow = "(tag) => [...document.querySelectorAll(tag)].map(e => getComputedStyle(e).overflowX)"
    assert set(page.ask(f"({overflow})('figure').concat(({overflow})('.scroll'))")) == {"auto"}


@pytest.mark.browser
@pytest.mark.parametrize("width", WIDTHS)
def test_tables_and_figures_are_readable(page, report, width):
    page.show(f"file://{report}", width)
    drawn = page.ask("[...document.querySelectorAll('figure svg')].map(e => e.getBoundingClientRect().width)")
    two_by_two, *figures = drawn
    assert 350 <= two_by_two <= width  # whole on a telephone, its 100 % cell too
    assert len(figures) == 2  # Figures 2 and 3
    assert min(figures) >= 640
    assert {"table_2", "table_7", "predictions", "claims", "claims_unverifiable", "claims_holds"} <= set(
        page.ask("[...document.querySelectorAll('h3')].map(e => e.id)")
    )
    assert "P→S" in page.ask("document.querySelector('#table_2 + .scroll').innerText")
    sizes = page.ask(
        "[...document.querySelectorAll('td, p, figcaption, a')].map(e => parseFloat(getComputedStyle(e).fontSize))"
    )
    assert min(sizes) >= 12


@pytest.mark.browser
def test_every_entry_of_the_page_leads_to_its_place(page, report):
    page.show(f"file://{report}", WIDTHS[1])
    lost = "[...document.querySelectorAll('a')].filter(a => !document.querySelector(a.getAttribute('href')))"
    assert page.ask(f"{lost}.length") == 0
    assert page.ask("document.querySelectorAll('ul.index a').length") > 15


@pytest.mark.browser
@pytest.mark.parametrize(("scheme", "is_dark"), [("light", False), ("dark", True)])
def test_dark_screen_darkens_the_page_but_not_its_figures(page, report, scheme, is_dark):
    page.prefer(scheme)
    page.show(f"file://{report}", WIDTHS[1])
    color = "(of, name) => getComputedStyle(document.querySelector(of))[name].match(/\\d+/g).map(Number)[0]"
    paper, ink = (page.ask(f"({color})('body', '{name}')") for name in ("backgroundColor", "color"))
    assert (paper < 60, ink > 200) == (is_dark, is_dark)
    figure = page.ask("getComputedStyle(document.querySelector('figure svg:not(.cells)')).backgroundColor")
    assert (figure == "rgb(255, 255, 255)") == is_dark
