"""BFCL from a small made download of the wheel's shape: gold replays, near misses fail, dotted names work."""

import asyncio
import inspect
import json
import zipfile
from typing import Any

import pytest

from carryover.tasks.cave.agent_spec import AgentSpec
from carryover.tasks.cave.arms.arm import ARMS
from carryover.tasks.cave.arms.oracle import Oracle, script
from carryover.tasks.cave.arms.play import CaseEpisode, Setting, play
from carryover.tasks.cave.importers.bfcl import CATEGORIES, bfcl_cases, documentation, json_schema, signature
from carryover.tasks.cave.importers.bfcl_rule import Accepted, is_accepted, wrong_calls
from carryover.tasks.cave.suites.case import Turn
from carryover.tasks.services.errors import UserError

AREA = {
    "name": "shape.circle.area",
    "description": "Area of a circle.",
    "parameters": {
        "type": "dict",
        "properties": {
            "radius": {"type": "float", "description": "In metres."},
            "from": {"type": "string", "description": "Where it was read.", "enum": ["the map", "the plan"]},
            "exact": {"type": "boolean"},
        },
        "required": ["radius"],
    },
}
GOLD = {"shape.circle.area": {"radius": [2.0], "from": ["", "the map"], "exact": ["", True], "undeclared": [1]}}


def line(number, function, **rest):
    question = [[{"role": "user", "content": "Area of radius 2, and of 2 again."}]]
    return json.dumps({"id": f"made_{number}", "question": question, "function": [function], **rest})


@pytest.fixture
def download(tmp_path):
    """A folder with one task per category; the parallel ones want two calls."""
    for folder in ("", "possible_answer"):
        (tmp_path / "bfcl_eval/data" / folder).mkdir(parents=True, exist_ok=True)
    for number, category in enumerate(CATEGORIES):
        gold = [
            {name: {key: values for key, values in wanted.items() if key != "undeclared"}}
            for name, wanted in GOLD.items()
        ]
        count = 2 if category.startswith("parallel") else 1
        data = tmp_path / "bfcl_eval/data"
        (data / f"BFCL_v4_{category}.json").write_text(line(number, AREA))
        answer = json.dumps({"id": f"made_{number}", "ground_truth": gold * count})
        (data / f"possible_answer/BFCL_v4_{category}.json").write_text(answer)
    return tmp_path


@pytest.mark.parametrize("arm", ARMS)
def test_gold_replays_under_every_arm(download, fork_tree, arm):
    setting = Setting(AgentSpec(), fork_tree, "run", "plan", "smoke")
    cases = bfcl_cases(str(download))
    assert cases
    for case in cases:
        played = asyncio.run(play(CaseEpisode(case, arm, 0), Oracle(script(case, ARMS[arm])), setting))
        assert [turn.wrong_json for turn in played.turns] == ["[]"]
        assert played.turns[0].source.endswith("AST rule")


def test_code_arms_call_dotted_names(download, fork_tree):
    case = bfcl_cases(str(download))[0]
    reply = "```python\nshape.circle.area(radius=2, **{'from': 'the map', 'exact': True})\n```"
    setting = Setting(AgentSpec(), fork_tree, "run", "plan", "smoke")
    for arm in ("persistent_code", "stateless_code", "code_act"):
        played = asyncio.run(play(CaseEpisode(case, arm, 0), Oracle([reply, "Done."]), setting))
        assert played.turns[0].is_passed, played.turns[0].wrong_json


ARGUMENTS = """Area of a circle.

Args:
    radius (float): In metres.
    from (string, optional): Where it was read. {"enum": ["the map", "the plan"]}
    exact (boolean, optional):"""


def test_every_arm_is_told_what_the_schema_says(download):
    world = bfcl_cases(str(download))[0].world
    assert inspect.getdoc(world.functions["shape__circle__area"]) == ARGUMENTS
    offered = world.schemas["shape__circle__area"]
    assert offered["description"] == "Area of a circle."
    assert offered["parameters"]["properties"]["radius"] == {"type": "number", "description": "In metres."}


def test_a_wheel_reads_as_its_folder(download, tmp_path):
    wheel = tmp_path / "bfcl_eval-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for file in (download / "bfcl_eval").rglob("*.json"):
            archive.write(file, file.relative_to(download))
    assert [case.turns for case in bfcl_cases(str(wheel))] == [case.turns for case in bfcl_cases(str(download))]


def test_a_missing_download_says_where_it_comes_from(tmp_path):
    with pytest.raises(UserError, match=r"pip download --no-deps bfcl-eval==2026\.3\.23"):
        bfcl_cases(None)
    with pytest.raises(UserError, match="has no bfcl_eval/data"):
        bfcl_cases(str(tmp_path))


KINDS = {
    "number": {"type": "float"},
    "whole": {"type": "integer"},
    "text": {"type": "string"},
    "anything": {"type": "any"},
    "pair": {"type": "tuple", "items": {"type": "integer"}},
    "several": {"type": "array", "items": {"type": "string"}},
    "place": {"type": "dict"},
    "places": {"type": "array", "items": {"type": "dict"}},
}


@pytest.mark.parametrize(
    ("parameter", "accepted", "value", "verdict"),
    [
        ("number", [2.0], 2, True),
        ("number", [2.0], "2", False),
        ("number", ["x", 2.0], "x", True),  # the name of a variable
        ("text", ["New York, NY"], "new york NY", True),
        ("text", ["New York"], "York", False),
        ("several", [["a", "b"]], ["A", "b."], True),
        ("several", [["a", "b"]], ["b", "a"], False),
        ("several", [["a"]], [1], False),
        ("place", [{"city": ["Rome"], "zip": ["", "1"]}], {"city": "rome"}, True),
        ("place", [{"city": ["Rome"]}], {"city": "rome", "more": 1}, False),
        ("places", [[{"city": ["Rome"]}]], [{"city": "Rome"}], True),
        ("places", [[{"city": ["Rome"]}]], [], False),
        ("places", ["", [{"city": ["Rome"]}]], ["city"], False),
        ("places", ["", [{"city": ["Rome"]}]], [{"city": "Rome"}, {"city": "Rome"}], False),
        ("places", ["", [{"city": ["Rome"]}]], [{"city": "Bonn"}], False),
        ("number", [2.0, 3.0], 3.0, True),
        ("number", ["", 2.0], 3, False),
        ("number", ["x", 2.0], 2.0, True),  # beside the name of a variable
        ("number", ["x"], 2.0, False),
        ("number", ["x"], "y", False),
        ("number", [""], "", False),
        ("whole", [1, 2], 2, True),
        ("whole", [1], True, False),
        ("whole", [1.0], 1, True),
        ("text", ["", "a"], "", True),
        ("text", [""], "b", False),
        ("text", ["It's a-b_c*d^e/f."], 'it"s ABCDEF', True),
        ("text", [1], "1", False),
        ("anything", ["a"], "A", True),
        ("pair", [[1, 2]], [1, 2], True),
        ("pair", [[1, 2]], [2, 1], False),
        ("pair", [[1, 2]], [1.0, 2.0], False),
        ("pair", ["", [1, 2]], [], False),
        ("several", [["", "a"]], [""], False),
        ("several", [[1, 2]], [1, 2], True),  # of the accepted value's type
        ("several", [[1, 2]], [1, 2.0], False),
        ("several", ["xs"], ["a"], False),
        ("several", ["xs"], "xs", True),
        ("place", [{"city": ["Rome"], "zip": ["", "1"]}], {"zip": "1"}, False),
        ("place", [{"city": ["Rome"], "zip": ["", "1"]}], {"city": "Rome", "zip": "2"}, False),
        ("place", ["x", {"city": ["Rome"]}], {"city": "Rome"}, False),
        ("place", [{"city": ["Bonn"]}, {"city": ["Rome"]}], {"city": "Rome"}, True),
        ("place", [{"cities": [["a", 1]]}], {"cities": ["A.", 1]}, True),
    ],
)
def test_values_are_judged_by_type_and_text(parameter, accepted, value, verdict):
    schema = {"properties": KINDS, "required": []}
    assert is_accepted(schema, ("f", {parameter: value}), Accepted("f", {parameter: accepted})) is verdict


@pytest.mark.parametrize(
    ("arguments", "verdict"),
    [({"a": 1}, True), ({"a": 1, "b": 2}, True), ({}, False), ({"a": 1, "c": 1}, False), ({"b": 2}, False)],
)
def test_parameters_are_judged_by_name(arguments, verdict):
    schema = {"properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a"]}
    assert is_accepted(schema, ("f", arguments), Accepted("f", {"a": [1], "b": ["", 2]})) is verdict


def test_each_wanted_call_is_made_once():
    schemas = {"f": {"properties": {"a": {"type": "integer"}}, "required": ["a"]}}
    one, two = Accepted("f", {"a": [1]}), Accepted("f", {"a": [2]})
    made: list[tuple[str, Any]] = [("f", {"a": 2}), ("f", {"a": 1})]
    assert wrong_calls(schemas, made, [one, two]) == ()
    assert made == [("f", {"a": 2}), ("f", {"a": 1})]
    assert wrong_calls(schemas, [("g", {"a": 1})], [one]) == ("no call is f({'a': [1]})",)
    assert wrong_calls(schemas, [("f", {"a": 1})], [one, two]) == ("1 calls, expected 2",)
    assert wrong_calls(schemas, [("f", {"a": 1}), ("f", {"a": 2})], [one, one]) == ("no call is f({'a': [1]})",)


LOOSE = {"type": "object", "required": ["b"]}


def test_a_signature_has_required_parameters_first_and_odd_ones_as_others():
    declared = {"a": {"type": "integer"}, "b": {"type": "string"}, "class": {"type": "any"}}
    assert str(signature({**LOOSE, "properties": declared})) == "(b, a=None, **_others)"
    assert str(signature({"properties": {"b": {}, "a": {}}})) == "(b=None, a=None)"


def test_a_schema_has_the_names_of_json():
    told = {
        "type": "dict",
        "properties": {
            "a": {"type": "float", "default": 1.5},
            "b": {"type": "tuple", "items": {"type": "any", "enum": ["dict", 1]}},
            "type": {"type": "string"},
        },
        "required": ["a"],
    }
    assert json_schema(told) == {
        "type": "object",
        "properties": {
            "a": {"type": "number", "default": 1.5},
            "b": {"type": "array", "items": {"enum": ["dict", 1]}},
            "type": {"type": "string"},
        },
        "required": ["a"],
    }


def test_documentation_tells_types_defaults_and_what_may_be_left_out():
    declared = {"a": {"type": "integer", "default": 3, "description": "How many."}, "b": {"type": "string"}}
    function = {"description": "Do it.", "parameters": {**LOOSE, "properties": declared}}
    assert documentation(function) == (
        'Do it.\n\nArgs:\n    a (integer, optional): How many. {"default": 3}\n    b (string):'
    )
    bare = {"description": "Do it.", "parameters": {"properties": {"a": {"type": "integer"}}}}
    assert documentation(bare) == "Do it.\n\nArgs:\n    a (integer, optional):"


def test_a_task_is_a_case_whole(download):
    cases = bfcl_cases(str(download))
    assert [case.case_id for case in cases] == [f"bfcl/{category}/000" for category in CATEGORIES]
    case = cases[2]
    call = "shape__circle__area(**{'radius': 2.0, 'from': 'the map', 'exact': True})"
    assert case.turns == (Turn("Area of radius 2, and of 2 again.", f"{call}\n{call}"),)
    assert case.source == "bfcl-eval 2026.3.23, made_2, AST rule"
    assert case.instructions.startswith("Call what the request asks for, once each")
    assert case.world.namespaced == {"shape.circle.area": "shape__circle__area"}
    assert case.world.functions["shape__circle__area"](2.0, exact=True) == "called"
    made = ["shape.circle.area", {"radius": 2.0, "exact": True}]
    assert case.world.state() == {"calls": [made]}
    assert case.differing({}, {"calls": [made, made]}) == ()
    assert case.differing({}, {"calls": [made]}) == ("1 calls, expected 2",)


def test_gold_takes_the_first_value_at_every_depth(download):
    """Of a dictionary the accepted values are listed by key."""
    place = {"city": ["Rome", "rome"], "zip": ["", "1"], "floor": [""]}
    wanted = {"f": {"a": ["", 2, 3], "b": [""], "c": [place], "d": [[place, 5]], "e": [7]}}
    parameters = {"properties": {name: {"type": "any"} for name in "abcd"}}
    function = {"name": "f", "description": "", "parameters": parameters}
    data = download / "bfcl_eval/data"
    (data / "BFCL_v4_multiple.json").write_text(line(0, function))
    (data / "possible_answer/BFCL_v4_multiple.json").write_text(json.dumps({"id": "made_0", "ground_truth": [wanted]}))
    found = {"city": "Rome", "zip": "1"}
    expected = {"a": 2, "c": found, "d": [found, 5]}
    assert bfcl_cases(str(download))[1].turns[0].golden == f"f(**{expected!r})"
