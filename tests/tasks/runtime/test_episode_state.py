"""An episode's state on an engine that only takes notes."""

from collections.abc import Callable
from typing import Any

import pytest

from carryover.tasks.runtime.engine import Block, BlockKilledError, Report, StateLostError
from carryover.tasks.runtime.journal import BlockObservation, Dropped, Installed, Ran, ToolReply
from carryover.tasks.runtime.lifetime import Lifetime
from carryover.tasks.runtime.objects import InjectionError
from carryover.tasks.runtime.process.node import Canaries
from carryover.tasks.runtime.results import Difference
from carryover.tasks.runtime.shaping import Preview
from tests.tasks.runtime.noting_engine import KEPT, RECENT, REPORT, STATELESS, binding, run, state_on

OBSERVED = BlockObservation("out", "1", None, ("x",), "h")


def test_block_is_kept_with_what_was_seen():
    state, engine = state_on(KEPT)
    assert run(state) == (REPORT, "out", ())
    assert (state.active, state.journal) == (("x",), [Ran(Block(1, "0", "x = 1"), (), OBSERVED)])
    assert engine.notes == [("execute", 1), ("finish", [])]
    engine.reports = [REPORT._replace(error_type="KeyError", error_text="text", result=None, shown_count=2)]
    assert len(run(state, 2).displays) == 2
    assert state.journal[1].observed == OBSERVED._replace(error="text", result=None)  # type: ignore[union-attr]


def test_lifetime_says_which_names_are_let_go():
    state, engine = state_on(STATELESS)
    run(state)
    assert (state.active, engine.notes[-1]) == ((), ("finish", None))
    state, engine = state_on(RECENT)
    engine.reports = [REPORT, REPORT._replace(names=("x", "y", "z")), REPORT._replace(names=("x", "y", "z"))]
    run(state)
    run(state, 2, "y = 1")
    assert (state.active, engine.notes[-1]) == (("x", "y", "z"), ("finish", ["_"]))
    run(state, 3, "z = 1")
    assert (state.active, engine.notes[-1]) == (("y", "z"), ("finish", ["_", "x"]))


def test_long_output_is_kept_under_a_name():
    state, engine = state_on(KEPT, Preview(limit=4))
    engine.printed = "abcdefgh"
    engine.reports = [REPORT._replace(result="12345678")]
    done = run(state, 3)
    assert done.output == "ab\n... [4 characters left out; the whole is the str output_3] ...\ngh"
    assert done.report.names == ("output_3", "x")
    assert done.report.result == "12\n... [4 characters left out; ask for less to see them] ...\n78"
    assert engine.notes[1] == ("keep", "output_3")
    assert state.journal[0].observed == OBSERVED._replace(output="abcdefgh", result="12345678")  # type: ignore[union-attr]
    stateless, engine = state_on(STATELESS, Preview(limit=2))
    assert "output_" not in run(stateless).output


@pytest.mark.parametrize(
    ("lifetime", "forgets", "found", "is_promised"),
    [
        (KEPT, False, Canaries("c", "c"), True),
        (KEPT, True, Canaries("other", "c"), False),
        (KEPT, False, Canaries("other", "c"), None),
        (KEPT, False, Canaries("c", "other"), False),
        (STATELESS, True, Canaries(None, None), True),
        (STATELESS, True, Canaries("c", None), False),
        (STATELESS, True, Canaries("other", None), None),
        (Lifetime("live", "nothing"), True, Canaries("c", "c"), None),
        (Lifetime("live", "nothing"), False, Canaries("c", "c"), False),
        (STATELESS, True, Canaries(None, "c"), False),
    ],
)
def test_words_of_the_last_block_tell_whether_a_promise_is_kept(lifetime, forgets, found, is_promised):
    state, engine = state_on(lifetime)
    run(state)
    engine.has_folder = True
    engine.forgets = forgets
    engine.found = found
    if is_promised is None:
        with pytest.raises(StateLostError, match="the namespace was changed between two steps: it does not remember"):
            state.is_as_promised()
        return
    assert state.is_as_promised() is is_promised
    if found.names == state._canaries.names:
        engine.has_folder = False
        assert state.is_as_promised()


def test_name_is_dropped_where_it_is_alive():
    state, engine = state_on(KEPT)
    engine.reports = [REPORT._replace(names=("x", "y"))]
    run(state)
    assert not state.drop("gone")
    engine.dropped = 0
    assert not state.drop("x")
    engine.dropped = 1
    assert state.drop("x")
    assert (state.active, state.journal[1:]) == (("y",), [Dropped("x")])
    assert engine.notes[2:] == [("drop", ["x"]), ("drop", ["x"]), ("finish", [])]


ROLLED_BACK = "The interpreter was rolled back to its state before this step."
LOST = "The interpreter's state was lost: no name of earlier steps is alive."
THREADS_GONE = "Threads that earlier steps started are gone."
RUN_AGAIN = (
    "Earlier blocks were run again with their recorded tool results to get that state back; "
    "threads that they had started are gone, and those that they started again begin anew."
)
UNDONE = "The block before this one is undone as well: no interpreter could go on after it."


def test_rollback_says_how_far_it_reaches():
    state, engine = state_on(KEPT)
    state.install(binding("tool"))
    run(state)
    run(state, 2)
    assert state.roll_back(undoes_last=False) == ("rolled_back", (ROLLED_BACK,))
    engine.recovery = "without_threads"
    assert state.roll_back(undoes_last=True) == ("rolled_back", (ROLLED_BACK, THREADS_GONE))
    engine.recovery = "incomplete"
    del engine.notes[:]
    assert state.roll_back(undoes_last=False) == ("rolled_back", (ROLLED_BACK, RUN_AGAIN))
    again = [("restart",), ("install", "tool"), ("execute", 1), ("finish", []), ("execute", 2), ("finish", [])]
    assert engine.notes == again
    engine.reports = [REPORT._replace(result="2")]
    otherwise = "Run again, they showed something else in steps 1."
    assert state.roll_back(undoes_last=True) == ("rolled_back", (ROLLED_BACK, RUN_AGAIN, UNDONE, otherwise))
    assert [type(entry) for entry in state.journal] == [Installed, Ran]
    engine.recovery = "lost"
    assert state.roll_back(undoes_last=False) == ("lost", (LOST,))
    assert (state.active, state.journal) == ((), [Installed("tool")])


@pytest.mark.parametrize(
    "error", [StateLostError("gone"), BlockKilledError("StepTimeout", "late"), InjectionError("no")]
)
def test_replay_that_fails_loses_the_state(error):
    state, engine = state_on(KEPT)
    state.install(binding("tool"))
    run(state)
    engine.recovery = "incomplete"
    engine.reports = [error]
    assert state.roll_back(undoes_last=False) == ("lost", (LOST,))
    assert engine.notes[-1] == ("restart", "tool")
    assert (state.active, state.journal) == ((), [Installed("tool")])


def test_replay_repeats_the_record_with_its_replies():
    state, engine = state_on(KEPT)
    state.install(binding("first"), binding("second"), binding("first"))
    assert state.not_installed([Installed("first"), Installed("gone"), Installed("a"), Dropped("x")]) == ("a", "gone")
    reply = ToolReply('["look", [], {}]', ("value", "5"))
    late = Ran(Block(2, "0", "late"), (), OBSERVED._replace(error="x\nStepTimeout: late"))
    entries = (
        Installed("second"), Ran(Block(1, "0", "look()"), (reply,), OBSERVED), Dropped("x"), late,
        Ran(Block(3, "0", "x"), (), OBSERVED._replace(result="2")),
    )  # fmt: skip
    answers: list[Any] = []

    def look(answer: Callable[..., Any]) -> Report:
        answers.append(answer("look", [], {}))
        return REPORT

    engine.reports = [look]
    del engine.notes[:]
    told: list[Any] = []
    found = state.reload(entries, lambda done, count: told.append((done, count)))
    assert found == (
        Difference(2, "interrupted", "ran until it was interrupted", "not run again"),
        Difference(3, "result", "'2'", "'1'"),
    )
    assert (answers, told) == ([("value", 5)], [(1, 3), (2, 3), (3, 3)])
    assert engine.notes == [
        ("restart",), ("install", "second"), ("execute", 1), ("finish", []), ("drop", ["x"]), ("finish", []),
        ("execute", 3), ("finish", []), ("install", "first"), ("install", "first"),
    ]  # fmt: skip
    assert [type(entry).__name__ for entry in state.journal] == [
        "Installed", "Ran", "Dropped", "Ran", "Ran", "Installed", "Installed",
    ]  # fmt: skip


def test_reload_that_ends_otherwise_is_told():
    state, engine = state_on(KEPT)
    run(state, 1)
    engine.reports = [BlockKilledError("StepTimeout", "late")]
    with pytest.raises(StateLostError, match=r"^step 4 does not end as it did: StepTimeout: late$"):
        state.reload((Ran(Block(4, "0", ""), (), OBSERVED),))
    assert (state.active, state.journal, state._canaries) == ((), [], Canaries())


def test_snapshot_is_restored_by_its_owner():
    state, engine = state_on(KEPT)
    run(state)
    snapshot = state.snapshot()
    engine.reports = [REPORT._replace(names=("x", "y"), canary="d")]
    run(state, 2)
    state.install(binding("tool"))
    engine.due = ("due",)
    engine.recovery = "without_threads"
    assert state.restore(snapshot) == ("rolled_back", (THREADS_GONE, "due"))
    assert (state.active, state._canaries) == (("x",), Canaries("c", "c"))
    assert [type(entry) for entry in state.journal] == [Ran, Installed]
    other, _ = state_on(KEPT)
    with pytest.raises(ValueError, match="the snapshot is from another interpreter or from before"):
        other.restore(snapshot)
    state.reload(())
    with pytest.raises(ValueError, match="the snapshot is from another interpreter or from before"):
        state.restore(snapshot)
    snapshot.close()
    snapshot.close()
    assert (engine.notes.count("released"), snapshot.frozen, snapshot.is_closed) == (1, None, True)
    with pytest.raises(ValueError, match="the snapshot is closed: its state is gone; close it after the last"):
        state.restore(snapshot)


def test_branch_goes_on_by_itself():
    state, engine = state_on(STATELESS)
    run(state)
    engine.recovery = "without_threads"
    other, recovered = state.branch()
    assert recovered == ("rolled_back", (THREADS_GONE,))
    assert (other.active, other.journal) == (state.active, state.journal)
    run(other, 2)
    assert (len(other.journal), len(state.journal)) == (2, 1)
    other.engine.forgets = True
    other.engine.found = Canaries("c", None)  # type: ignore[attr-defined]
    assert not other.is_as_promised()
    assert (state._words, other._words) == (["c"], ["c", "c"])
