"""What a probe's verdict says of a claim."""

from carryover.tasks.probe.probing import ProbeReport
from carryover.tasks.probe.promise import Promise
from carryover.tasks.probe.report import Verdict

REPORT = ProbeReport("made", {})
PROMISE = Promise("persistent", "Variables persist.")


def test_what_a_reset_keeps_is_told_apart_from_what_a_prompt_promises():
    breaches = ["global: lost after an error", "thread: kept after a reset", "umask: kept after a reset"]
    assert Verdict(PROMISE, breaches).lines(REPORT) == [
        "made claims to be persistent, promised by 'Variables persist.', and breaks it in 1 way:",
        "- global: lost after an error",
        "its reset breaks the claim in 2 ways, since it keeps: thread, umask",
    ]


def test_a_runtime_whose_reset_alone_keeps_something_is_as_claimed_before_it():
    assert Verdict(PROMISE, ["thread: kept after a reset"]).lines(REPORT) == [
        "made is persistent, as claimed, promised by 'Variables persist.'",
        "its reset breaks the claim in 1 way, since it keeps: thread",
    ]
