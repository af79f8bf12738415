"""BFCL from a small made download of the wheel's shape: gold replays, near misses fail, dotted names work."""

import asyncio
import inspect
import json
import zipfile

import pytest

from carryover.tasks.cave.agent_spec import AgentSpec
from carryover.tasks.cave.arms.arm import ARMS
from carryover.tasks.cave.arms.oracle import Oracle, script
from carryover.tasks.cave.arms.play import CaseEpisode, Setting, play
from carryover.tasks.cave.importers.bfcl import CATEGORIES, bfcl_cases
from carryover.tasks.cave.importers.bfcl_rule import Accepted, is_accepted, wrong_calls
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
    "text": {"type": "string"},
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
    assert wrong_calls(schemas, [("f", {"a": 2}), ("f", {"a": 1})], [one, two]) == ()
    assert wrong_calls(schemas, [("f", {"a": 1})], [one, two]) == ("1 calls, expected 2",)
    assert wrong_calls(schemas, [("f", {"a": 1}), ("f", {"a": 2})], [one, one]) == ("no call is f({'a': [1]})",)
