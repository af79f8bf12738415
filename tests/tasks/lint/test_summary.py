import pytest

from carryover.tasks.lint.lint import lint_traces, summarise_lint
from carryover.tasks.lint.trace import LintReply, trace_of_replies

ALONE = [LintReply("```\nx = 1\n```"), LintReply("```\nx = 1\n```")]
CARRYING = [LintReply("```\nx = 1\n```"), LintReply("```\nprint(x)\n```")]


def test_shares_and_rates_per_declared_contract():
    traces = [
        trace_of_replies("a", "stateless", ALONE),
        trace_of_replies("b", "stateless", CARRYING),
        trace_of_replies("c", None, CARRYING[:1]),
    ]
    stateless, undeclared = summarise_lint(lint_traces(traces)).to_dicts()
    assert (stateless["declared_contract"], stateless["trace_count"]) == ("stateless", 2)
    assert (stateless["stateless_safe_share"], stateless["needs_persistence_share"]) == (0.5, 0.5)
    assert (stateless["contradicting_share"], stateless["redefinitions_per_block"]) == (0.5, 0.25)
    # the fences are 6 signs a reply: 9 tokens each, and 10 for the call; the second `x = 1` is said again
    assert stateless["restated_share"] == pytest.approx(3 / 37)
    assert (undeclared["declared_contract"], undeclared["single_block_share"]) == (None, 1.0)
