from pathlib import Path

from carryover.tasks.probe.published import published_reports, published_tables

PAGE = Path(__file__).parents[3] / "tasks" / "probe" / "published.md"


def test_the_page_shows_the_published_reports():
    reports = published_reports()
    assert reports
    assert PAGE.read_text(encoding="utf-8").endswith(published_tables(reports))
