"""Assert a runtime's contract in a test."""

from collections.abc import Mapping

from carryover.tasks.probe.channels import PROBED, Channel
from carryover.tasks.probe.probing import probe
from carryover.tasks.probe.protocol import ProbedRuntime
from carryover.tasks.probe.verdict import Claim, breaches


def assert_contract(runtime: ProbedRuntime, claim: Claim, channels: Mapping[str, Channel] = PROBED) -> None:
    """Fail a test with every breach of a runtime's claim."""
    found = breaches(probe(runtime, type(runtime).__name__, channels), claim)
    if found:
        raise AssertionError("\n".join([f"{type(runtime).__name__} is not {claim}:", *found]))
