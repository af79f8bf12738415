"""BFCL's multi-turn tasks from a small made download: gold replays over the simulators, late functions come late."""

import asyncio
import datetime
import json
from copy import deepcopy

import pytest

from carryover.tasks.cave.agent_spec import AgentSpec
from carryover.tasks.cave.arms.arm import ARMS
from carryover.tasks.cave.arms.oracle import Oracle, script
from carryover.tasks.cave.arms.play import CaseEpisode, Setting, play
from carryover.tasks.cave.importers.bfcl_multi_turn import Simulators, bfcl_multi_turn_cases
from carryover.tasks.cave.suites.case import Call
from carryover.tasks.services.errors import UserError
from tests.tasks.cave.importers.made_downloads import made_multi_turn


@pytest.fixture
def download(tmp_path):
    return made_multi_turn(tmp_path)


@pytest.fixture
def run(fork_tree):
    def run(case, arm, replies=None):
        setting = Setting(AgentSpec(), fork_tree, "run", "plan", "smoke")
        return asyncio.run(play(CaseEpisode(case, arm, 0), Oracle(replies or script(case, ARMS[arm])), setting)).turns

    return run


@pytest.mark.parametrize("arm", ARMS)
def test_gold_replays_under_every_arm(download, run, arm):
    cases = bfcl_multi_turn_cases(str(download))
    assert [case.tier for case in cases] == ["base", "miss_func", "miss_param", "long_context"]
    added = "More functions are there now. Can you do it with them?"
    assert [[turn.question for turn in case.turns] for case in cases] == [
        ["Make b and a.", added if case.tier == "miss_func" else "List."] for case in cases
    ]
    for case in cases:
        turns = run(case, arm)
        assert [(turn.wrong_json, turn.call_count) for turn in turns] == [("[]", 2), ("[]", 1)]
        assert turns[0].source == f"bfcl-eval 2026.3.23, {case.tier}, state and answers"


def test_state_and_answers_are_checked(download, run):
    case = bfcl_multi_turn_cases(str(download))[0]
    first, second = (Call("mkdir", {"name": name}) for name in "ba")
    wrong = [turn.wrong_json for turn in run(case, "json", [(first,), "Done.", (Call("ls", {}),), "Done."])]
    assert wrong == ['["answers"]', "[]"]  # the answer to the second call of the first turn is never got
    wrong = [turn.wrong_json for turn in run(case, "json", [(first, second), "Done.", "Done."])]
    assert wrong == ["[]", '["answers"]']
    wrong = [turn.wrong_json for turn in run(case, "json", ["Done.", "Done."])]
    assert wrong == ['["GorillaFileSystem.root", "answers"]'] * 2


def test_answers_of_the_last_turn_alone_are_asked_for(download):
    task = download / "bfcl_eval/data/BFCL_v4_multi_turn_base.json"
    asked = json.loads(task.read_text()) | {"question": [[{"content": f"Turn {number}."}] for number in range(3)]}
    task.write_text(json.dumps(asked))
    gold = {"id": "base", "ground_truth": [["ls()"], ["ls()"], ["mkdir('b')"]]}
    (task.parent / "possible_answer" / task.name).write_text(json.dumps(gold))
    (case,) = [case for case in bfcl_multi_turn_cases(str(download)) if len(case.turns) == 3]
    assert case.differing({"answers": ["first", "second", "third"]}, {"answers": ["third"]}) == ()
    assert case.differing({"answers": ["first", "second", "third"]}, {"answers": ["second"]}) == ("answers",)


def test_what_a_simulator_raises_is_an_answer(download):
    base, *_, long = bfcl_multi_turn_cases(str(download))
    state = base.expected[1].state
    assert state["answers"] == ["None", "Error during execution: a exists", '{"names": ["a", "b"]}']
    assert state["GorillaFileSystem.root"] == {"names": ["a", "b"]}
    assert (state["GorillaFileSystem.is_long"], long.expected[0].state["GorillaFileSystem.is_long"]) == (False, True)


@pytest.mark.parametrize("arm", ["persistent_code", "json"])
def test_a_late_function_is_unknown_before_its_turn(download, run, arm):
    case = bfcl_multi_turn_cases(str(download))[1]
    early = "```python\nls()\n```" if ARMS[arm].writes_code else (Call("ls", {}),)
    turns = run(case, arm, [early, "Done.", early, "Done."])
    assert [turn.call_count for turn in turns] == [0 if ARMS[arm].writes_code else 1, 1]
    assert "answers" in json.loads(turns[0].wrong_json)
    state = case.world.state()
    assert state["answers"] == []


def test_a_download_without_simulators_is_refused(tmp_path):
    with pytest.raises(UserError, match="pip download --no-deps bfcl-eval"):
        bfcl_multi_turn_cases(None)
    with pytest.raises(UserError, match="is not the wheel bfcl-eval"):
        bfcl_multi_turn_cases(str(tmp_path))


class Folder:
    """A part of a simulator, with a way back up."""

    def __init__(self, parent):
        self.parent = parent
        self.size = 1.5
        self._cache = 1


class Cabinet:
    """A simulator with values of every kind."""

    def __init__(self):
        self.answer: object = None
        self.names = {"b", "a"}
        self.pair = (1, True)
        self.folders = {3: [Folder(self)]}
        self.function = len
        self.day = datetime.date(2026, 1, 2)
        self.nothing = None
        self._hidden = 1

    def get(self):
        return self.answer

    fixed = 7


class Loaded(Cabinet):
    """A simulator with a scenario."""

    def _load_scenario(self, scenario, long_context):
        self.answer = (scenario, long_context)


def test_public_attributes_of_objects_are_the_state():
    simulators = Simulators({"Cabinet": Cabinet}, {"Cabinet": {"a": 1}}, is_long=False)
    assert simulators.state() == {
        "Cabinet.answer": None,
        "Cabinet.names": ["a", "b"],
        "Cabinet.pair": [1, True],
        "Cabinet.folders": {"3": [{"size": 1.5}]},
        "Cabinet.function": "<built-in function len>",
        "Cabinet.day": "2026-01-02",
        "Cabinet.nothing": None,
        "answers": [],
    }


@pytest.mark.parametrize("is_long", [False, True])
def test_a_scenario_is_loaded_by_copy(is_long):
    scenario = {"Loaded": {"list": [1]}}
    simulators = Simulators({"Loaded": Loaded, "Other": Loaded}, scenario, is_long=is_long)
    simulators.state()
    loaded, other = (simulators.objects[name].answer for name in ("Loaded", "Other"))
    assert (loaded, other) == (({"list": [1]}, is_long), ({}, is_long))
    loaded[0]["list"].append(2)
    assert scenario == {"Loaded": {"list": [1]}}


@pytest.mark.parametrize(
    ("answer", "value", "text"),
    [
        ("a", "a", "a"),
        ({"b": (1,)}, {"b": [1]}, '{"b": [1]}'),
        ({"b": {1}}, "{'b': {1}}", "{'b': {1}}"),
        ([1, None], [1, None], "[1, None]"),
        (2.5, 2.5, "2.5"),
        (None, None, "None"),
        ({1}, "{1}", "{1}"),
    ],
)
def test_an_answer_is_json_and_is_compared_as_the_wheel_does(answer, value, text):
    simulators = Simulators({"Cabinet": Cabinet}, {}, is_long=False)
    simulators.state()
    simulators.objects["Cabinet"].answer = answer
    assert simulators.call("get", {}) == value
    with pytest.raises(StopIteration):
        simulators.call("fixed", {})  # an attribute is no function
    assert simulators.answers == [text]


def test_a_copy_of_simulators_goes_on_by_itself():
    simulators = Simulators({"Cabinet": Cabinet}, {"Cabinet": {}}, is_long=True)
    simulators.call("get", {})
    copied = deepcopy(simulators)
    copied.objects["Cabinet"].names.add("c")
    copied.call("get", {})
    assert simulators.objects["Cabinet"].names == {"a", "b"}
    assert (simulators.answers, copied.answers) == (["None"], ["None", "None"])
    assert (copied.classes, copied.scenario, copied.is_long) == ({"Cabinet": Cabinet}, {"Cabinet": {}}, True)


@pytest.mark.parametrize(
    ("expected", "actual", "wrong"),
    [
        ({"a": 1, "answers": ["x"]}, {"a": 1, "answers": ["x", "y"]}, ()),
        ({"a": 1, "b": 2, "answers": []}, {"b": 3, "c": 1, "answers": []}, ("a", "b", "c")),
        ({"answers": ["x"]}, {"answers": []}, ("answers",)),
        ({"answers": ["x", "x"]}, {"answers": ["x"]}, ("answers",)),
        ({"answers": ["x", "y", "z"]}, {"answers": ["z"]}, ()),
        ({"answers": ["x", "y", "z"]}, {"answers": ["x", "y"]}, ("answers",)),
    ],
)
def test_gold_answers_of_a_turn_must_be_among_the_answers(download, expected, actual, wrong):
    """The first turn of the made task has two gold calls, and the second one."""
    case = bfcl_multi_turn_cases(str(download))[0]
    assert case.differing(expected, actual) == wrong
