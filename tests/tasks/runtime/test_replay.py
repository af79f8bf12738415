"""Bringing a state about again: blocks run anew with recorded tool replies, and what differs is reported."""

import dataclasses
import json

import pytest

from carryover.tasks.runtime.engine import StateLostError

KILL_ALL = "import os, signal\nos.kill(-1, signal.SIGKILL)\nos._exit(0)"
"""Ends the frozen copies too, so that either backend has nothing left but the record."""
DIFFERENT_EACH_TIME = {
    "output": "print(time.monotonic_ns())",
    "result": "time.monotonic_ns()",
    "error": "raise ValueError(time.monotonic_ns())",
    "names": "globals()[f'name_{time.monotonic_ns()}'] = object()",
    "state_hash": "x = time.monotonic_ns()",
    "tool_calls": "try: look(time.monotonic_ns())\nexcept Exception: pass",
}
TOOLS = {"look": lambda number: "seen"}


def test_saved_episode_comes_back_by_replay(open_one, contract, tmp_path):
    counter = []

    def count() -> int:
        counter.append(1)
        return len(counter)

    first = open_one(contract, {"count": count})
    first.run_block("import random\nx = [random.random(), count()]")
    first.run_block("1 / 0")
    first.run_block("y = count()")
    first.drop_name("y")
    before = first.run_block("'x' in globals() and x").result
    first.save(tmp_path / "episode.json")
    second = open_one(contract, {"count": count}, instance_id="another")
    assert second.reload(tmp_path / "episode.json") == ()
    assert second.verify_contract()
    assert second.run_block("'x' in globals() and x").result == before
    assert second.run_block("'y' in globals()").result == "False"
    assert len(counter) == 2


@pytest.mark.parametrize("field", DIFFERENT_EACH_TIME)
def test_reload_reports_each_observation_that_came_out_otherwise(open_one, contract, tmp_path, field):
    first = open_one(contract, TOOLS)
    first.run_block("kept = 1")
    first.run_block(f"import time\n{DIFFERENT_EACH_TIME[field]}")
    first.run_block("look(3)")
    first.save(tmp_path / "episode.json")
    found = open_one(contract, TOOLS).reload(tmp_path / "episode.json")
    is_kept = contract.name == "persistent"
    expected = [(2, field), *([(3, field)] if is_kept and field in {"names", "state_hash"} else [])]
    expected += [(3, "variable x")] if is_kept and field == "state_hash" else []
    assert [(difference.step, difference.field) for difference in found] == expected
    assert all(difference.recorded != difference.replayed for difference in found)


def test_reload_names_the_variables_that_are_others_and_no_more(open_one, tmp_path):
    first = open_one("persistent", TOOLS)
    first.run_block("import time\nx = [time.monotonic_ns()]\nsame = [1]\nkind = object()")
    first.run_block("globals()[f'name_{x[0]}'] = 1")
    name = f"name_{first.retrieve('x')[0]}"
    first.save(tmp_path / "episode.json")
    second = open_one("persistent", TOOLS)
    found = second.reload(tmp_path / "episode.json")
    other = f"name_{second.retrieve('x')[0]}"
    named = {each.field.removeprefix("variable "): each for each in found if each.field.startswith("variable ")}
    assert [*named] == [*sorted({name, other}), "x"]
    assert (named[name].replayed, named[other].recorded) == ("absent", "absent")


def test_digests_are_asked_for_on_request_alone(open_one):
    interpreter = open_one("persistent")
    interpreter.run_block("x = 1")
    assert interpreter.journal().digests == {}
    journal = interpreter.journal(has_digests=True)
    assert journal.digests.keys() == {"x"}
    assert (journal.step_count, len(journal.entries), journal.contract) == (1, 1, interpreter.contract)


def test_an_interrupted_block_is_kept_and_not_run_again(open_one):
    first = open_one("persistent")
    first.run_block("x = 1")
    journal = first.journal()
    (entry,) = journal.entries
    ended = dataclasses.replace(entry, observed=entry.observed._replace(error="StepTimeout: too long"))
    second = open_one("persistent")
    (difference,) = second.replay(journal.model_copy(update={"entries": (ended,)}))
    assert (difference.step, difference.field, difference.replayed) == (1, "interrupted", "not run again")
    assert second.journal().entries == (ended,)
    assert second.run_block("'x' in globals()").result == "False"


def test_journal_is_saved_during_a_block_and_after_closing(open_one, tmp_path):
    interpreter = open_one("persistent", {"save": lambda: interpreter.save(tmp_path / "episode.json")})
    assert interpreter.run_block("x = 1; save()").error is None
    assert interpreter.run_block("x").result == "1"
    interpreter.close()
    interpreter.save(tmp_path / "episode.json")
    assert open_one("persistent", {"save": lambda: None}).reload(tmp_path / "episode.json") == ()


@pytest.mark.parametrize(
    ("code", "replayed"),
    [
        ("look(1); look(3); None", [["look", [1], {}], ["look", [3], {}]]),
        ("look(1); None", [["look", [1], {}]]),
        ("look(1); look(2); look(3); None", [["look", [1], {}], ["look", [2], {}], ["look", [3], {}]]),
        ("look(1); look(number=2); None", [["look", [1], {}], ["look", [], {"number": 2}]]),
    ],
)
def test_calls_that_came_out_otherwise_are_reported_whole(open_one, contract, tmp_path, code, replayed):
    first = open_one(contract, TOOLS)
    path = tmp_path / "episode.json"
    first.run_block("look(1); look(2); None")
    first.save(path)
    path.write_text(path.read_text(encoding="utf-8").replace("look(1); look(2); None", code), encoding="utf-8")
    found = open_one(contract, TOOLS).reload(path)
    assert [json.loads(each.replayed) for each in found if each.field == "tool_calls"] == [replayed]
    assert {json.loads(each.recorded)[1][1][0] for each in found if each.field == "tool_calls"} == {2}


def test_replay_refuses_a_block_that_no_longer_ends(open_with, contract, tmp_path):
    first = open_with(contract)
    path = tmp_path / "episode.json"
    first.run_block("x = 1")
    first.save(path)
    path.write_text(path.read_text(encoding="utf-8").replace("x = 1", "import os; os._exit(0)"), encoding="utf-8")
    with pytest.raises(StateLostError, match="step 1 does not end as it did"):
        open_with(contract).reload(path)


def test_journal_of_another_contract_is_refused(open_one, tmp_path):
    open_one("persistent").save(tmp_path / "episode.json")
    with pytest.raises(ValueError, match="recorded under persistent, this is stateless"):
        open_one("stateless").reload(tmp_path / "episode.json")


@pytest.mark.parametrize("field", DIFFERENT_EACH_TIME)
def test_model_is_told_which_earlier_steps_came_out_otherwise(open_one, field):
    interpreter = open_one("persistent", TOOLS)
    interpreter.run_block("kept = 1")
    interpreter.run_block(f"import time\n{DIFFERENT_EACH_TIME[field]}")
    snapshot = interpreter.snapshot()
    interpreter.run_block(KILL_ALL)
    notices = interpreter.restore(snapshot)
    assert notices[1:] == ("Run again, they showed something else in steps 2.",)
    assert interpreter.run_block("kept").result == "1"
    snapshot.close()


def test_dropped_name_stays_gone_after_a_replay(open_one):
    interpreter = open_one("persistent")
    interpreter.run_block("x = y = 1")
    interpreter.drop_name("x")
    snapshot = interpreter.snapshot()
    interpreter.run_block(KILL_ALL)
    interpreter.restore(snapshot)
    assert interpreter.run_block("'x' in globals(), y").result == "(False, 1)"
    snapshot.close()


def test_model_is_told_of_no_difference_where_there_is_none(open_one):
    interpreter = open_one("persistent", TOOLS)
    interpreter.run_block("kept = look(1)")
    snapshot = interpreter.snapshot()
    interpreter.run_block(KILL_ALL)
    assert len(interpreter.restore(snapshot)) == 1
    assert interpreter.run_block("kept").result == "'seen'"
    snapshot.close()


def test_reply_is_recorded_before_its_tool_changes_it(open_one, contract, tmp_path):
    basket: list[int] = []

    def add() -> list[int]:
        basket.append(len(basket))
        return basket

    first = open_one(contract, {"add": add})
    seen = [first.run_block("add()").result for _ in range(3)]
    first.save(tmp_path / "episode.json")
    assert seen == ["[0]", "[0, 1]", "[0, 1, 2]"]
    assert open_one(contract, {"add": add}).reload(tmp_path / "episode.json") == ()


def double(number):
    return 2 * number


def halve(number):
    return number // 2


def inject_between_blocks(interpreter):
    """Play an episode in which something is injected before, between and after its blocks."""
    interpreter.inject("basket", [1])
    interpreter.run_block("[name for name in ('basket', 'bag', 'double', 'halve') if name in globals()]")
    interpreter.inject("double", double, runs_in="sandbox")
    interpreter.inject("halve", halve)
    interpreter.inject("bag", [2])
    interpreter.run_block("bag.append(double(halve(42))); basket.append(0)\n(basket, bag)")
    interpreter.inject("basket", [3])
    return interpreter.run_block("(basket, bag)")


@pytest.mark.parametrize("way", ["reload", "restore"])
def test_what_was_injected_between_blocks_comes_back_between_them(open_one, contract, tmp_path, way):
    interpreter = open_one(contract)
    last = inject_between_blocks(interpreter)
    if way == "reload":
        interpreter.save(tmp_path / "episode.json")
        interpreter = open_one(contract)
        for name, value in [("bag", [2]), ("basket", [1]), ("basket", [3]), ("later", 4)]:
            interpreter.inject(name, value)
        interpreter.inject("halve", halve)
        interpreter.inject("double", double, runs_in="sandbox")
        assert interpreter.reload(tmp_path / "episode.json") == ()
        assert interpreter.run_block("later").result == "4"
    else:
        snapshot = interpreter.snapshot()
        interpreter.run_block(KILL_ALL)
        assert "something else" not in "".join(interpreter.restore(snapshot))
        snapshot.close()
    assert interpreter.run_block("(basket, bag)").result == last.result


def test_what_was_injected_after_a_snapshot_outlives_going_back_twice(open_one):
    interpreter = open_one("persistent")
    interpreter.run_block("x = 1")
    snapshot = interpreter.snapshot()
    interpreter.inject("bag", [2])
    for _ in range(2):
        interpreter.run_block(KILL_ALL)
        interpreter.restore(snapshot)
        assert interpreter.run_block("x, bag").result == "(1, [2])"
    snapshot.close()


def test_reload_names_missing_injections_and_changes_nothing(open_one, contract, tmp_path):
    first = open_one(contract)
    inject_between_blocks(first)
    first.save(tmp_path / "episode.json")
    second = open_one(contract)
    second.inject("basket", [1])
    with pytest.raises(ValueError, match="missing injected objects: bag, basket, double, halve; inject them before"):
        second.reload(tmp_path / "episode.json")
    assert second.run_block("basket").result == "[1]"


@pytest.mark.parametrize(
    ("text", "place"), [("", "the file"), ("\x00", "the file"), ("{}", "contract"), ('{"contract": 1}', "contract")]
)
def test_file_that_is_no_journal_is_refused(open_one, tmp_path, text, place):
    path = tmp_path / "episode.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=rf"episode.json: not a journal that `save` wrote \({place}: .+\)$") as refusal:
        open_one("persistent").reload(path)
    assert "\n" not in str(refusal.value)


def test_state_that_cannot_be_brought_about_leaves_what_is_injected(open_one, contract, tmp_path):
    path = tmp_path / "episode.json"
    first = open_one(contract)
    first.run_block("x = 1")
    first.inject("bag", [2])
    first.save(path)
    path.write_text(path.read_text(encoding="utf-8").replace("x = 1", "import os; os._exit(0)"), encoding="utf-8")
    second = open_one(contract)
    second.inject("bag", [2])
    with pytest.raises(StateLostError, match="step 1 does not end as it did"):
        second.reload(path)
    assert second.run_block("bag, 'x' in globals()").result == "([2], False)"
