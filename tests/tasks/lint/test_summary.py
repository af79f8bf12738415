import pytest

from carryover.tasks.lint.against import RUNTIMES, Losses, failing_steps, fails_without, losses_of
from carryover.tasks.lint.lint import lint_trace
from carryover.tasks.lint.summary import LintSummary
from carryover.tasks.readers.trace import Block, Reply, Trace
from carryover.tasks.services.errors import UserError

ALONE = ("x = 1", "x = 1")
CARRYING = ("x = 1", "print(x)")


def lint_of(contract, codes):
    replies = tuple(Reply(f"```\n{code}\n```", (Block(code),)) for code in codes)
    return lint_trace(Trace(trace_id="trace", declared_contract=contract, replies=replies))


def summary_of(*traces):
    summary = LintSummary()
    for contract, codes in traces:
        summary.add(lint_of(contract, codes))
    return summary


def test_shares_and_rates_per_declared_contract():
    stateless, undeclared = summary_of(("stateless", ALONE), ("stateless", CARRYING), (None, CARRYING[:1])).rows()
    assert (stateless["declared_contract"], stateless["trace_count"]) == ("stateless", 2)
    assert (stateless["stateless_safe_share"], stateless["needs_persistence_share"]) == (0.5, 0.5)
    assert (stateless["contradicting_share"], stateless["redefinitions_per_block"]) == (0.5, 0.25)
    assert stateless["failing_stateless_share"] == 0.5
    # the fences are 6 signs a reply: 9 tokens each, and 10 for the call; the second `x = 1` is said again
    assert stateless["restated_share"] == pytest.approx(3 / 37)
    assert (undeclared["declared_contract"], undeclared["single_block_share"]) == (None, 1.0)


def test_only_declared_contracts_have_rows():
    assert [row["declared_contract"] for row in summary_of(("stateless", ALONE), ("persistent", ALONE)).rows()] == [
        "persistent",
        "stateless",
    ]
    assert summary_of().rows() == []


def test_the_first_thing_that_is_missed_may_be_no_name():
    found = summary_of((None, ("open('a.txt', 'w')", "open('a.txt')")))
    assert found.sentence() == "1 of 1 episode fails in a stateless runtime; first at block 2, file a.txt"


def test_a_data_set_is_summed_up_in_a_sentence():
    found = summary_of((None, CARRYING), (None, CARRYING), (None, ALONE), (None, ("x = [",)))
    assert found.sentence() == (
        "2 of 4 episodes fail in a stateless runtime; first at block 2, name `x` (2 episodes); 1 could not be judged"
    )
    assert summary_of((None, CARRYING)).sentence() == (
        "1 of 1 episode fails in a stateless runtime; first at block 2, name `x`"
    )


def test_the_name_is_one_that_the_earliest_block_misses():
    later = (None, ("y = 1", "z = 2", "print(y)"))
    found = summary_of(later, (None, CARRYING), later)
    assert found.sentence() == "3 of 3 episodes fail in a stateless runtime; first at block 2, name `x` (1 episode)"


@pytest.mark.parametrize(
    ("blocks", "first"),
    [
        (("y = 1", "q = 2", "print(zz)\nprint(aa)", "zz = 1\naa = 2"), "block 3, name `aa`"),
        (("print(early)", "early = 2", "y = 1", "print(y)"), "block 1, name `early`"),
    ],
)
def test_a_name_that_no_block_has_bound_counts_where_it_is_read(blocks, first):
    assert f"; first at {first}" in summary_of((None, blocks)).sentence()


def test_names_of_one_episode_each_are_counted():
    found = summary_of((None, ("x = 1", "print(x)")), (None, ("y = 1", "print(y)")))
    assert found.sentence() == "2 of 2 episodes fail in a stateless runtime; first at block 2, name `x` (1 episode)"


def test_a_fresh_process_keeps_files():
    carrying_files = lint_of(None, ("open('a.txt', 'w').write('1')", "print(open('a.txt').read())"))
    assert carrying_files.carried_files == ("a.txt",)
    assert fails_without(carrying_files, RUNTIMES["stateless"])
    assert not fails_without(carrying_files, RUNTIMES["fresh-process"])


def test_a_runtime_is_found_by_its_name():
    assert {name: losses_of(name) for name in RUNTIMES} == RUNTIMES


def test_an_unknown_runtime_is_refused():
    with pytest.raises(UserError, match="unknown runtime 'sideways'; choose from stateless, fresh-process, persistent"):
        losses_of("sideways")


RAISING = (
    Block("kept = 1"),
    Block("bound = 1\nprint(unknown)", output="", error="NameError: name 'unknown' is not defined"),
    Block("print(kept)"),
    Block("print(bound)"),
)


def lint_of_raising():
    replies = tuple(Reply(f"```\n{block.code}\n```", (block,)) for block in RAISING)
    return lint_trace(Trace(trace_id="trace", replies=replies))


@pytest.mark.parametrize(
    ("losses", "steps"),
    [
        (Losses("made", frozenset()), []),
        (
            Losses("made", frozenset({"names"})),
            ["block 3: kept (names, lost after a block)", "block 4: bound (names, lost after a block)"],
        ),
        (Losses("made", frozenset(), error=frozenset({"names"})), ["block 3: kept (names, lost after an error)"]),
        (
            Losses("made", frozenset(), failed_block=frozenset({"names"})),
            ["block 4: bound (names, lost with the block that raised)"],
        ),
        (Losses("made", frozenset({"files"})), []),
    ],
)
def test_steps_fail_by_the_channel_that_a_runtime_loses(losses, steps):
    lint = lint_of_raising()
    assert list(map(str, failing_steps(lint, losses))) == steps
    assert fails_without(lint, losses) == bool(steps)


def test_a_summary_counts_the_channels_that_fail():
    summary = LintSummary(Losses("made", frozenset({"names", "directory"}), unknown=frozenset({"figures"})))
    summary.add(lint_of_raising())
    assert summary.sentence() == (
        "1 of 1 episode fails in a made runtime; first at block 3, name `kept`; by names (1); "
        "the probe could not tell figures"
    )
