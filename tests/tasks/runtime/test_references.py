"""Live objects by reference: they stay in the host, and each use of one is a tool call."""

import asyncio
import dataclasses
import enum
import functools
import sqlite3
import sys
from typing import Any

import pytest

from carryover.tasks.runtime.inside.tools import ToolError
from carryover.tasks.runtime.inside.values.portable import NotPortableError
from carryover.tasks.runtime.objects import InjectionError
from carryover.tasks.runtime.references import References, shape_of


@dataclasses.dataclass
class Scene:
    """Levels by name: data."""

    levels: dict


class Light:
    """A lamp of a house."""

    def __init__(self, name):
        self.name = name
        self.level = 0
        self._secret = "hunter2"

    def dim(self, level: int) -> int:
        """Set the level, and return it."""
        if level > 100:
            raise ValueError(f"level {level} is above 100")
        self.level = level
        return level

    @property
    def is_on(self):
        """Whether it shines."""
        return self.level > 0


class House:
    """Lights by name."""

    def __init__(self):
        self.lights = {name: Light(name) for name in ("hall", "kitchen")}
        self.module = sys

    def __len__(self):
        return len(self.lights)

    def __iter__(self):
        return iter(self.lights.values())

    def __contains__(self, name):
        return name in self.lights

    def __getitem__(self, name):
        return self.lights[name]

    def play(self, scene):
        """Set levels from a scene of data."""
        for name, level in scene.levels.items():
            self.lights[name].dim(level)

    async def wait(self, light):
        """Return a light's level a moment later."""
        await asyncio.sleep(0.01)
        return light.level


@pytest.fixture
def house():
    return House()


@pytest.fixture
def interpreter(open_one, house):
    opened = open_one("persistent")
    opened.inject("house", house, by="reference", description="The house.")
    return opened


def test_method_acts_on_the_object_in_the_host(interpreter, house):
    result = interpreter.run_block("light = house['kitchen']\nlight.dim(30), light.level, light.is_on")
    assert result.result == "(30, 30, True)"
    assert house.lights["kitchen"].level == 30
    assert [call.tool.rpartition(".")[2] for call in result.tool_calls] == ["__getitem__", "dim", "level", "is_on"]
    assert interpreter.run_block("light.level").result == "30"


def test_attribute_that_is_set_changes_the_object(interpreter, house):
    assert interpreter.run_block("house['hall'].level = 7").error is None
    assert house.lights["hall"].level == 7


def test_one_object_is_one_reference(interpreter):
    code = "house['hall'] is house['hall'], [one is house[one.name] for one in house], len(house), 'attic' in house"
    assert interpreter.run_block(code).result == "(True, [True, True], 2, False)"


def test_errors_are_those_that_python_raises(interpreter):
    code = """\
told = []
for act in (lambda: house['attic'], lambda: house.attic, lambda: house['hall'].dim(101), lambda: house['hall']._secret):
    try:
        act()
    except (KeyError, AttributeError, ValueError) as error:
        told.append((type(error).__name__, str(error)))
told"""
    assert interpreter.run_block(code).result == str(
        [
            ("KeyError", "'attic'"),
            ("AttributeError", "'House' object has no attribute 'attic'"),
            ("ValueError", "level 101 is above 100"),
            ("AttributeError", "'Light' object has no attribute '_secret'"),
        ]
    )
    error = interpreter.run_block("house['attic']").error
    assert (error.kind, error.type) == ("tool", "KeyError")


def test_reference_is_an_argument_and_comes_back_as_the_object(interpreter, house):
    house.lights["hall"].level = 5
    assert interpreter.run_block("light = house['hall']\nhouse.wait(light)").result == "5"
    assert interpreter.retrieve("light") is house.lights["hall"]


def test_declared_data_travels_by_value(interpreter, house):
    interpreter.inject("Scene", Scene)
    assert interpreter.run_block("house.play(Scene({'hall': 3, 'kitchen': 4}))").error is None
    assert [light.level for light in house.lights.values()] == [3, 4]


def test_attribute_that_holds_a_module_is_refused(interpreter):
    error = interpreter.run_block("house.module").error
    assert error.type == "ToolRuntimeException"
    assert "a module does not travel, by value or by reference" in error.message


@pytest.mark.parametrize("name", ["__class__", "__init__", "__dict__", "_secret", "__reduce__", "__getattribute__"])
def test_forged_call_reaches_no_private_name(name):
    references = References()
    references.share("light", Light("hall"), None)
    found = references.find(f"light.{name}")
    assert found is not None
    with pytest.raises(ToolError, match=f"'Light' object has no attribute '{name}'"):
        found.call([], {}, None)


@pytest.mark.parametrize("value", [sys, House, (lambda: 0).__code__, sys._getframe()])
def test_modules_classes_and_frames_are_never_shared(open_one, value):
    with pytest.raises(InjectionError, match="does not travel, by value or by reference"):
        open_one("persistent").inject("found", value, by="reference")


def test_generator_offers_iteration_alone():
    assert shape_of((number for number in ()), None).methods == ()
    references = References()
    references.share("numbers", (number for number in range(2)), None)
    found = references.find("numbers.gi_frame")
    assert found is not None
    with pytest.raises(ToolError, match="no attribute 'gi_frame'"):
        found.call([], {}, None)


def test_allowed_names_bound_what_a_block_reaches(open_one, house):
    interpreter = open_one("persistent")
    interpreter.inject("house", house, by="reference", allow=("level",))
    assert interpreter.run_block("house['hall'].level").result == "0"
    error = interpreter.run_block("house['hall'].dim(3)").error
    assert (error.type, house.lights["hall"].level) == ("AttributeError", 0)


@pytest.mark.parametrize("contract", ["persistent", "stateless"])
def test_database_works_as_in_python(open_one, contract):
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    interpreter = open_one(contract)
    interpreter.inject("database", connection, by="reference")
    interpreter.run_block("database.execute('create table t(a, b)')")
    kept = "with database as same:\n    database.execute('insert into t values (1, ?)', (b'x',))\nsame is database"
    assert interpreter.run_block(kept).result == "True"
    failed = "with database:\n    database.execute('insert into t values (2, 3)')\n    1 / 0"
    assert interpreter.run_block(failed).error.type == "ZeroDivisionError"
    assert interpreter.run_block("[row for row in database.execute('select * from t')]").result == "[(1, b'x')]"
    error = interpreter.run_block("database.execute('nonsense')").error
    assert "ToolRuntimeException: OperationalError: near" in error.message
    assert connection.execute("select count(*) from t").fetchone() == (1,)


def test_uses_count_as_tool_calls(open_one, house):
    interpreter = open_one("persistent", tool_call_cap=3)
    interpreter.inject("house", house, by="reference")
    error = interpreter.run_block("for _ in range(9): len(house)").error
    assert (error.kind, error.type) == ("cap", "ToolCallLimitError")


def test_block_holds_a_bounded_number_of_objects(monkeypatch):
    monkeypatch.setattr("carryover.tasks.runtime.references._HELD_LIMIT", 3)
    refer: Any = References().granting(None, {})
    lights = [Light(name) for name in "abcd"]
    assert [refer(light)[1] for light in lights[:3]] == ["Light"] * 3
    assert refer(lights[0])[0] == "Light#0.0"
    with pytest.raises(NotPortableError, match="hold 3 objects"):
        refer(lights[3])


def test_reference_outlives_a_rollback_and_a_branch(interpreter, house):
    interpreter.run_block("light = house['hall']\nlight.dim(3)")
    assert interpreter.run_block("import os\nos._exit(1)").error is not None
    assert interpreter.run_block("light.dim(4)").result == "4"
    with interpreter.branch() as branch:
        assert branch.run_block("light.dim(5), light is house['hall']").result == "(5, True)"
    assert house.lights["hall"].level == 5


def test_replayed_session_asks_for_objects_that_are_gone(open_one, house, tmp_path):
    first = open_one("persistent")
    first.inject("house", house, by="reference")
    first.run_block("light = house['hall']\nlight.dim(9)")
    first.save(tmp_path / "journal.json")
    second = open_one("persistent")
    second.inject("house", House(), by="reference")
    assert second.reload(tmp_path / "journal.json") == ()
    assert "Light#0.1 is not there any more" in second.run_block("light.level").error.message
    assert second.run_block("house['hall'].level").result == "0"


def test_prompt_names_methods_and_properties(interpreter):
    interpreter.inject("light", Light("attic"), by="reference", description="In the attic.")
    assert interpreter.injected[-1].text.splitlines() == [
        "light: Light, a live object outside of the interpreter",
        "    In the attic.",
        "    A lamp of a house.",
        "    def dim(self, level: int) -> int",
        "        Set the level, and return it.",
        "    is_on: Whether it shines.",
    ]


def test_callable_is_shared_without_its_attributes(open_one):
    interpreter = open_one("persistent")
    interpreter.inject("double", functools.partial(lambda factor, number: factor * number, 2), by="reference")
    assert interpreter.run_block("double(21)").result == "42"
    assert interpreter.run_block("double.func").error.type == "AttributeError"


def test_connection_goes_in_by_reference_alone(open_one):
    interpreter = open_one("persistent")
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    with pytest.raises(InjectionError, match='type Connection does not travel; inject it by="reference"'):
        interpreter.inject("database", connection)
    interpreter.inject("database", connection, by="reference")
    assert interpreter.run_block("database.execute('select 1').fetchall()").result == "[(1,)]"


def test_a_block_is_told_the_operators_that_are_there_and_allowed():
    reading = ("__len__", "__iter__", "__getitem__", "__contains__")
    assert shape_of({}, None).operators == (*reading, "__setitem__", "__delitem__")
    assert shape_of({}, frozenset({"__setitem__", "__call__"})).operators == (*reading, "__setitem__")
    assert shape_of({}, frozenset()).operators == reading
    assert shape_of(len, None).operators == ("__call__",)
    assert shape_of(Color.RED, None).operators == ()  # its class alone can be counted


class Color(enum.Enum):
    RED = 1
