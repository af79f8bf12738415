"""What a probe's report and verdict say, in every format."""

import json
import re

import pytest

from carryover.tasks.probe.probing import ProbeReport
from carryover.tasks.probe.promise import Promise
from carryover.tasks.probe.report import (
    Verdict,
    findings,
    read_report,
    report_json,
    report_markdown,
    report_page,
    report_screen,
)
from carryover.tasks.probe.verdict import breaches
from carryover.tasks.services.errors import UserError

REPORT = ProbeReport("made", {})
PROMISE = Promise("persistent", "Variables persist.")
FULL = ProbeReport(
    "made <1>",
    {
        "global": {"block": "kept", "error": "lost", "resume": "stale", "reset": "kept"},
        "thread": {"block": "lost"},
        "temporary file": {"block": "kept", "error": "kept", "resume": "kept", "reset": "kept"},
        "last value": {"block": "lost", "error": "lost", "resume": "lost", "reset": "lost"},
        "umask": {},
    },
    version="made 3.1",
    events=["block", "error", "resume", "reset"],
    reasons={"thread": "no module threading", "umask": "no module os"},
    lost_name_reads={"error": "silent", "resume": "loud"},
    live_globals={"block": True, "resume": False},
    inputs={"a list": "copied"},
    hostile={"file of the host": "denied"},
    failures={"time_out": "OSError: gone"},
)
FINDINGS = [
    "version: made 3.1",
    "a read of a name lost after an error is silent",
    "a read of a name lost after a resume is loud",
    "after a block an earlier function sees live globals",
    "after a resume an earlier function sees old globals",
    "injected input, a list: copied",
    "hostile block, file of the host: denied",
    "time_out() raised OSError: gone",
    "not probed, as the runtime offers none: a kill",
    "thread cannot be probed: no module threading",
    "umask cannot be probed: no module os",
]
ROWS = [
    ("channel", "after a block", "after an error", "after a resume", "after a reset"),
    ("global", "kept", "lost", "stale", "kept"),
    ("thread", "lost", "unavailable", "unavailable", "unavailable"),
    ("temporary file", "kept", "kept", "kept", "kept"),
    ("last value", "lost", "lost", "lost", "lost"),
    ("umask", "unavailable", "unavailable", "unavailable", "unavailable"),
]


def test_what_a_reset_keeps_is_told_apart_from_what_a_prompt_promises():
    broken = ["global: lost after an error", "thread: kept after a reset", "umask: kept after a reset"]
    assert Verdict(PROMISE, broken).lines(REPORT) == [
        "made claims to be persistent, promised by 'Variables persist.', and breaks it in 1 way:",
        "- global: lost after an error",
        "its reset breaks the claim in 2 ways, since it keeps: thread, umask",
    ]


def test_a_runtime_whose_reset_alone_keeps_something_is_as_claimed_before_it():
    assert Verdict(PROMISE, ["thread: kept after a reset"]).lines(REPORT) == [
        "made is persistent, as claimed, promised by 'Variables persist.'",
        "its reset breaks the claim in 1 way, since it keeps: thread",
    ]


def test_channels_that_cannot_be_probed_are_counted():
    assert Verdict(Promise("stateless", None), []).lines(FULL) == [
        "made <1> is stateless, as claimed (2 channels cannot be probed)"
    ]
    assert Verdict(Promise("stateless", None), ["a", "b"]).lines(FULL) == [
        "made <1> claims to be stateless, and breaks it in 2 ways (2 channels cannot be probed):", "- a", "- b",
    ]  # fmt: skip


def test_breaches_of_persistence_are_losses_and_what_a_reset_keeps():
    assert breaches(FULL, "persistent") == [
        "a time-out raises OSError: gone",
        "global: lost after an error",
        "thread: lost after a block",
        "global: an older value stands in its place after a resume",
        "global: kept after a reset",
        "reading a name that is lost after an error raises no NameError",
        "after a resume an earlier function reads an old value of a global name",
    ]


def test_breaches_of_statelessness_are_what_is_kept():
    assert breaches(FULL, "stateless") == [
        "a time-out raises OSError: gone",
        "global: kept after a block",
        "global: kept after a reset",
        *(f"temporary file: kept after {event}" for event in ("a block", "an error", "a resume", "a reset")),
        "global: an older value stands in its place after a resume",
        "reading a name that is lost after an error raises no NameError",
    ]


@pytest.mark.parametrize(("reasons", "why"), [({"global": "no output"}, "no output"), ({}, "no name was planted")])
def test_a_report_without_names_is_no_ground_for_a_verdict(reasons, why):
    report = ProbeReport("made", {"global": {}}, reasons=reasons)
    with pytest.raises(UserError, match=f"^cannot probe made: {why}; a block must print what its caller sees$"):
        breaches(report, "persistent")


def test_findings_are_a_sentence_each():
    assert findings(FULL) == FINDINGS
    assert findings(ProbeReport("made", {}, events=["block", "error", "time_out", "reset", "resume", "kill"])) == []


def test_markdown_is_a_table_and_a_list():
    table, _, listed = report_markdown(FULL).partition("\n\n")
    lines = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in table.splitlines()]
    assert lines == [ROWS[0], ("---",) * 5, *ROWS[1:]]
    assert listed == "".join(f"- {finding}\n" for finding in FINDINGS)


def test_a_screen_shows_the_table_above_the_findings():
    shown = report_screen(FULL, 120).splitlines()
    assert shown[0].strip() == "probe of made <1>"
    cells = [tuple(re.split(r"\s{2,}", line.strip())) for line in shown]
    assert [row for row in ROWS if row in cells] == ROWS
    assert shown[-len(FINDINGS) :] == FINDINGS
    assert max(map(len, report_screen(FULL, 60).splitlines()[: -len(FINDINGS)])) <= 60


def test_a_page_holds_verdict_table_and_findings_escaped():
    page = report_page(FULL, Verdict(Promise("persistent", "Names & values persist."), ["global: lost after an error"]))
    assert page.startswith("<!doctype html>")
    assert "<h1>Probe of made &lt;1&gt;</h1>" in page
    assert "<title>Probe of made &lt;1&gt;</title>" in page
    assert re.findall("<p>(.*?)</p>", page) == [
        "made &lt;1&gt; claims to be persistent, promised by &#x27;Names &amp; values persist.&#x27;, and breaks it in "
        "1 way (2 channels cannot be probed):",
        "- global: lost after an error",
    ]
    assert tuple(re.findall("<th>(.*?)</th>", page)) == ROWS[0]
    rows = [re.findall(r'<td(?: class="(\w*)")?>(.*?)</td>', row) for row in re.findall("<tr>(<td.*?)</tr>", page)]
    assert [tuple(text for _, text in row) for row in rows] == ROWS[1:]
    assert all(kind == text for row in rows for kind, text in row[1:])
    assert re.findall("<li>(.*?)</li>", page) == FINDINGS
    assert "<p>" not in report_page(FULL, None)


def test_json_holds_report_and_verdict_and_reads_back():
    told = report_json(FULL, Verdict(PROMISE, ["global: lost after an error"]))
    assert told.startswith('{\n  "runtime": "made <1>",\n  "channels": {\n    "global": {')
    assert told.endswith("}\n")
    judged = {key: json.loads(told)[key] for key in ("claim", "sentence", "holds", "breaches")}
    assert judged == {
        "claim": "persistent", "sentence": "Variables persist.", "holds": False,
        "breaches": ["global: lost after an error"],
    }  # fmt: skip
    assert json.loads(report_json(FULL, Verdict(PROMISE, [])))["holds"] is True
    unjudged = json.loads(report_json(FULL, None))
    assert {key: unjudged[key] for key in judged} == {"claim": None, "sentence": None, "holds": None, "breaches": []}
    assert read_report(told, "probe.json") == FULL


def test_a_report_without_failures_is_read():
    held = json.loads(report_json(REPORT, None))
    del held["failures"]
    assert read_report(json.dumps(held), "probe.json") == REPORT


@pytest.mark.parametrize("text", ["", "[]", "3", '{"runtime": "made"}'])
def test_what_is_no_report_is_refused(text):
    with pytest.raises(UserError, match=r"^probe\.json is no report of `carryover probe --format json`$"):
        read_report(text, "probe.json")
