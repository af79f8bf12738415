import re
from html import unescape
from html.parser import HTMLParser

import polars as pl

from carryover.tasks.analysis.figures import Drawing
from carryover.tasks.analysis.report import ReportContent, ReportTable, render_report

CONTENT = ReportContent(
    title="Study <laptop>",
    measured_on="laptop, not Qwen3-8B",
    findings=["Ratio 2.50 [2.00, 4.00].", "Four cells."],
    pictures=[Drawing("cells", "the 2x2", "<svg id='cells'></svg>")],
    figures=[],
    tables=[
        ReportTable("table_2", "Table 2", pl.DataFrame({"condition": ["P->P"], "qwen3_8b_score_pct": [81.1]})),
        ReportTable("table_5", "Table 5", pl.DataFrame({"metric": []})),
    ],
    facts=[("plan", "laptop")],
    plan_json='{"name": "laptop & more"}',
    environment_json='{"python": "3.11"}',
)


class Outline(HTMLParser):
    """Collects tags and ids; unbalanced tags show in `open_tags`."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.open_tags: list[str] = []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.ids.extend(value for name, value in values.items() if name == "id" and value)
        self.links.extend(value for name, value in values.items() if name in ("href", "src") and value)
        if tag not in ("meta", "link", "br"):
            self.open_tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open_tags.pop() == tag


def outline(html: str) -> Outline:
    parser = Outline()
    parser.feed(html)
    return parser


def test_the_page_is_balanced_and_every_link_leads_within_it():
    page = outline(render_report(CONTENT))
    assert page.open_tags == []
    assert {link.removeprefix("#") for link in page.links} <= set(page.ids)


def test_the_page_loads_nothing():
    html = render_report(CONTENT)
    assert not re.search(r"(src=|@import|url\()", html)


def test_the_finding_stands_before_everything_else():
    html = render_report(CONTENT)
    assert html.index("Ratio 2.50 [2.00, 4.00].") < html.index("laptop, not Qwen3-8B") < html.index("Four cells.")


def test_text_is_escaped_and_drawings_are_not():
    html = render_report(CONTENT)
    assert "<h1>Study &lt;laptop&gt;</h1>" in html
    assert "laptop &amp; more" in html
    assert "<svg id='cells'></svg>" in html


def test_plan_and_environment_stand_in_the_page_word_by_word():
    html = render_report(CONTENT._replace(environment_json='{"python": "3.11", "packages": {"duckdb": "2.0.0"}}'))
    shown = unescape(html[html.index('id="plan"') :])
    for words in ('"name": "laptop & more"', '"python": "3.11"', '"duckdb": "2.0.0"'):
        assert words in shown


def test_published_rows_are_marked_and_empty_parts_say_so():
    html = render_report(CONTENT)
    assert (
        '<tr class="published"><td class="long words">Qwen3-8B (published): score %</td><td class="">81.1</td></tr>'
        in html
    )
    assert "No rows for this plan." in html
    assert "There is nothing to draw yet." in html


def test_long_tables_are_folded():
    rows = pl.DataFrame({"claim": [f"claim {number}" for number in range(61)]})
    html = render_report(CONTENT._replace(tables=[ReportTable("claims", "Claims", rows)]))
    assert "<summary>61 rows</summary>" in html
    assert outline(html).open_tags == []
