from pathlib import Path

from carryover.tasks.probe.published import published_reports, published_tables

README = Path(__file__).parents[3] / "tasks" / "probe" / "README.md"


def test_the_readme_shows_the_published_reports():
    reports = published_reports()
    assert reports
    assert README.read_text(encoding="utf-8").endswith(published_tables(reports))
