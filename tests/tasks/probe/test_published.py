from pathlib import Path

from carryover.tasks.probe.probing import FAILED_BLOCK, NAMES, ProbeReport
from carryover.tasks.probe.published import published_reports, published_tables

PAGE = Path(__file__).parents[3] / "tasks" / "probe" / "published.md"


def test_the_page_shows_the_published_reports():
    reports = published_reports()
    assert reports
    assert PAGE.read_text(encoding="utf-8").endswith(published_tables(reports))


def test_fates_of_names_are_empty_unknown_or_lost_in_a_way():
    report = ProbeReport(
        "made",
        {NAMES: {"block": "kept", "resume": "lost", "reset": "kept"}, FAILED_BLOCK: {"error": "lost"}},
        events=["block", "error", "resume"],
        lost_name_reads={"resume": "silent"},
    )
    row = published_tables([report]).splitlines()[2]
    assert [cell.strip() for cell in row.split("|")][4:11] == ["kept", "?", "", "lost, silent", "", "", "·"]
