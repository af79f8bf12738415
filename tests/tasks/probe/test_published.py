from pathlib import Path

from carryover.tasks.probe.probing import FAILED_BLOCK, NAMES, ProbeReport
from carryover.tasks.probe.published import published_reports, published_tables
from carryover.tasks.probe.verdict import breaches

PAGE = Path(__file__).parents[3] / "tasks" / "probe" / "published.md"


def test_the_page_shows_the_published_reports():
    reports = published_reports()
    assert reports
    assert PAGE.read_text(encoding="utf-8").endswith(published_tables(reports))


HEADS = (
    "| runtime | version | probed on | names after a block | names after an error | names after a time-out "
    "| names after a resume | names after a reset | names after a kill | names of a failed block "
    "| earlier function sees live globals | change in an injected list | breaches of persistent "
    "| breaches of stateless |"
)
MADE = ProbeReport(
    "made",
    {NAMES: {"block": "kept", "resume": "lost", "reset": "kept"}, FAILED_BLOCK: {"error": "lost"}, "umask": {}},
    version="made 3",
    probed_on="2026-01-01",
    events=["block", "error", "resume"],
    lost_name_reads={"resume": "silent"},
    live_globals={"block": True, "resume": False},
    inputs={"change in place": "undone: the input is fresh in each block"},
)
OTHER = ProbeReport(
    "other",
    {NAMES: {"block": "stale", "reset": "lost"}, "thread": {"block": "unavailable", "reset": "kept"}, FAILED_BLOCK: {}},
    events=["block", "reset"],
)


def test_tables_tell_runtimes_by_name_and_channels_by_event():
    lost = "lost, silent"
    broken = (len(breaches(MADE, "persistent")), len(breaches(MADE, "stateless")))
    others = (len(breaches(OTHER, "persistent")), len(breaches(OTHER, "stateless")))
    assert published_tables([MADE, OTHER]).splitlines() == [
        HEADS,
        f"|{' --- |' * 14}",
        f"| made | made 3 | 2026-01-01 | kept | ? |  | {lost} |  |  | · | yes after a block, no after a resume "
        f"| undone | {broken[0]} | {broken[1]} |",
        f"| other |  |  | stale |  |  |  | lost |  | ? |  |  | {others[0]} | {others[1]} |",
        "",
        "| after a block | made | other |",
        "| --- | --- | --- |",
        "| global | kept | stale |",
        "| umask | ? | ? |",
        "| thread | ? | ? |",
        "",
        "| after a reset | other |",
        "| --- | --- |",
        "| global | · |",
        "| thread | kept |",
    ]
