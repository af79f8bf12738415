"""Snapshots and branches, and how long bindings live."""

import os
import select
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal

import pytest

from carryover.tasks.runtime import notices
from carryover.tasks.runtime.contract import CONTRACTS, Contract
from carryover.tasks.runtime.engine import Block, StateLostError
from carryover.tasks.runtime.lifetime import Bound, Lifetime
from carryover.tasks.runtime.objects import bind_value
from carryover.tasks.runtime.shaping import WholeOutput
from carryover.tasks.runtime.state import EpisodeState


def test_restored_state_is_the_one_of_the_snapshot(open_one):
    interpreter = open_one("persistent")
    interpreter.run_block("x = [1]")
    snapshot = interpreter.snapshot()
    interpreter.run_block("x.append(2)\ny = 3")
    interpreter.restore(snapshot)
    assert interpreter.verify_contract()
    result = interpreter.run_block("x")
    assert (result.result, result.active_globals) == ("[1]", ("x",))
    snapshot.close()


def test_snapshot_can_be_restored_more_than_once(open_one):
    interpreter = open_one("persistent")
    interpreter.run_block("x = [1]\nnumbers = iter(range(9))\nnext(numbers)")
    snapshot = interpreter.snapshot()
    for _ in range(3):
        interpreter.restore(snapshot)
        assert interpreter.run_block("x.append(2)\nx, next(numbers)").result == "([1, 2], 1)"
    snapshot.close()


def test_snapshot_that_is_closed_or_of_another_history_is_refused(open_one, contract, tmp_path):
    interpreter, other = open_one(contract), open_one(contract, instance_id="other")
    interpreter.run_block("x = 1")
    snapshot = interpreter.snapshot()
    with pytest.raises(ValueError, match="another interpreter or from before"):
        other.restore(snapshot)
    interpreter.save(tmp_path / "episode.json")
    interpreter.restore(snapshot)
    interpreter.reload(tmp_path / "episode.json")
    with pytest.raises(ValueError, match="another interpreter or from before"):
        interpreter.restore(snapshot)
    snapshot.close()
    with pytest.raises(ValueError, match="the snapshot is closed"):
        interpreter.restore(snapshot)


def test_branches_change_by_themselves(open_one):
    interpreter = open_one("persistent", {"look": lambda: "seen"})
    interpreter.run_block("x = [1]")
    other = interpreter.branch()
    other.run_block("x.append(2)")
    interpreter.run_block("x.append(3)")
    assert other.run_block("x, look()").result == "([1, 2], 'seen')"
    assert interpreter.run_block("x").result == "[1, 3]"
    assert other.verify_contract()
    other.close()
    assert interpreter.run_block("x").result == "[1, 3]"


def test_unused_branches_share_one_copy_of_the_state(open_fork_tree, roots):
    interpreter = open_fork_tree("persistent")
    interpreter.run_block("x = 1")
    interpreter.verify_contract()
    (root,) = roots
    family = root.family
    count = len(family)
    first, second, unused = (interpreter.branch() for _ in range(3))
    assert len(family) == count
    assert interpreter.run_block("x = 2\nimport os\nos._exit(1)").state_event == "rolled_back"
    interpreter.run_block("x = 3")
    first.run_block("x += 10")
    assert first.run_block("import os; os._exit(1)").state_event == "rolled_back"
    assert [each.run_block("x").result for each in (first, second, interpreter)] == ["11", "1", "3"]
    interpreter.close()
    assert unused.run_block("x").result == "1"
    for each in (first, second, unused):
        each.close()
    assert not family


def test_branches_begin_at_once_in_threads(open_fork_tree):
    interpreter = open_fork_tree("persistent")
    interpreter.run_block("x = 1")
    branches = [interpreter.branch() for _ in range(8)]
    with ThreadPoolExecutor(len(branches)) as pool:
        results = [*pool.map(lambda number: branches[number].run_block(f"x + {number}").result, range(8))]
    assert results == [str(1 + number) for number in range(8)]
    for branch in branches:
        branch.close()


def test_branch_outlives_what_it_grew_from(open_one):
    interpreter = open_one("persistent")
    interpreter.run_block("x = 1")
    other = interpreter.branch()
    interpreter.close()
    assert other.run_block("print(x)").output == "1\n"
    other.close()


def test_stateless_interpreter_branches_and_restores_to_nothing(open_one):
    interpreter = open_one("stateless")
    interpreter.run_block("x = 1")
    snapshot = interpreter.snapshot()
    assert interpreter.restore(snapshot) == ()
    other = interpreter.branch()
    assert (other.run_block("'x' in globals()").result, interpreter.run_block("2").result) == ("False", "2")
    other.close()


def test_copy_of_a_past_state_ends_with_the_next_block(open_fork_tree, roots):
    interpreter = open_fork_tree("persistent")
    interpreter.run_block("x = 1")
    assert interpreter.verify_contract()  # waits for the copy
    (root,) = roots
    handles = [os.dup(node.handle) for node in root.family]
    assert select.select(handles, [], [], 0)[0] == []
    interpreter.run_block("x = 2")
    ended, _, _ = select.select(handles, [], [], 60)
    for handle in handles:
        os.close(handle)
    assert len(ended) == 1


def test_block_whose_process_ends_after_it_is_undone(open_fork_tree):
    interpreter = open_fork_tree("persistent")
    # It ends when its copy is made, after the step.
    interpreter.run_block("x = 1")
    interpreter.run_block("import os\nx = 2\nprint('seen')\nos.register_at_fork(before=lambda: os._exit(0))")
    for _ in range(2):
        with pytest.raises(StateLostError):
            interpreter.verify_contract()
    ended = interpreter.run_block("1")
    assert (ended.error.type, ended.output, ended.state_event) == ("InterpreterDied", "", "rolled_back")
    assert notices.UNDONE in ended.notices
    assert interpreter.run_block("x").result == "1"


@pytest.mark.parametrize("lifetime", [Lifetime("fresh", "nothing"), Lifetime("live", "nothing")])
def test_namespace_that_remembers_too_much_breaks_the_contract(fork_tree, lifetime):
    engine = fork_tree.open_engine(Lifetime("live", "all"), {})
    finish = engine.finish
    engine.finish = lambda dropped: finish([])  # it keeps what it should drop
    state = EpisodeState(lifetime, engine, WholeOutput())
    assert state.is_as_promised()
    state.run(Block(1, "0", "x = 1"), lambda *_call: ("value", None), tuple)
    assert not state.is_as_promised()
    other, _ = state.branch()
    assert not other.is_as_promised()
    other.engine.close()
    engine.close()


def test_namespace_scope_removes_user_names_and_keeps_the_process(open_one):
    contract = Contract(name="stateless", lifetime="block", scope="namespace")
    interpreter = open_one(contract)
    interpreter.run_block("import sys\nx = 1\nsys.kept = 1")
    result = interpreter.run_block("'x' in globals(), 'sys' in globals(), hasattr(__import__('sys'), 'kept')")
    assert (result.result, result.active_globals) == ("(False, False, True)", ())
    assert interpreter.verify_contract()


def test_recent_lifetime_forgets_what_was_not_bound_lately(open_one):
    interpreter = open_one(Contract(name="recent", lifetime="recent:2"))
    assert interpreter.run_block("x = 1\ny = 1").active_globals == ("x", "y")
    assert interpreter.run_block("y = 2").active_globals == ("x", "y")
    assert interpreter.run_block("pass").active_globals == ("y",)
    assert interpreter.run_block("x").error.type == "NameError"
    assert interpreter.verify_contract()


@pytest.mark.parametrize(
    "code",
    [
        "match 5:\n    case bound: pass",
        "match 5:\n    case int() as bound: pass",
        "match [5, 6]:\n    case [5, *bound]: pass",
        "match {'a': 5}:\n    case {**bound}: pass",
    ],
)
def test_recent_lifetime_counts_what_a_match_captures(open_one, code):
    interpreter = open_one(Contract(name="recent", lifetime="recent:2"))
    interpreter.run_block("bound = 1")
    interpreter.run_block(code)
    assert interpreter.run_block("1").active_globals == ("bound",)
    assert interpreter.run_block("'bound' in globals()").result == "True"


def test_functions_lifetime_keeps_definitions_alone(open_one):
    interpreter = open_one(Contract(name="functions", lifetime="functions"))
    result = interpreter.run_block("x = 1\ndef double(number): return 2 * number\nclass Kept: pass")
    assert result.active_globals == ("Kept", "double")
    assert interpreter.run_block("double(4), 'x' in globals()").result == "(8, False)"
    assert interpreter.run_block("double = 5").active_globals == ("Kept",)
    assert interpreter.verify_contract()


@pytest.mark.parametrize(
    "word", ["forever", "episode:3", "block:1", "recent", "recent:", "recent:²", "recent:0", "recent-3"]
)
def test_a_contract_refuses_an_unknown_lifetime(word):
    with pytest.raises(ValueError, match=f"unknown lifetime '{word}'; choose from episode, block, recent:K, functions"):
        Contract(name="odd", lifetime=word)


@dataclass(frozen=True)
class Injected(Lifetime):
    """A lifetime of what was injected alone: all names that blocks bind end, in a process that lives on."""

    runs_in: Literal["live", "fresh"] = "live"
    keeps: Literal["all", "some", "nothing"] = "nothing"

    def survives(self, bound: Bound, step: int) -> bool:
        return False


def test_lifetime_of_what_was_injected_is_one_small_class(fork_tree):
    lifetime = Injected()
    engine = fork_tree.open_engine(lifetime, {})
    engine.install(bind_value("given", [1], is_user=False, limit_bytes=1 << 20))
    state = EpisodeState(lifetime, engine, WholeOutput())

    def run(step: int, code: str) -> str | None:
        return state.run(Block(step, "0", code), lambda *_call: ("value", None), tuple).report.result

    run(1, "x = 1\ngiven.append(2)")
    assert state.is_as_promised()
    assert run(2, "'x' in globals(), given") == "(False, [1, 2])"
    assert state.active == ()
    engine.close()


def test_contracts_inject_nothing_or_the_environment():
    binds = {name: contract.binds for name, contract in CONTRACTS.items()}
    assert binds == {
        "persistent": "nothing",
        "stateless": "nothing",
        "injected": "environment",
        "injected+persistent": "environment",
    }
