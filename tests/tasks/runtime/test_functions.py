"""Functions of the host: what they take and return, and where they run."""

import asyncio
import dataclasses
import functools
import json
import math
import operator

import numpy as np
import pandas as pd
import pytest
from pydantic import BaseModel

from carryover.tasks.runtime.objects import InjectionError, Record
from carryover.tasks.runtime.session import session

RATE = 2


@dataclasses.dataclass
class Point:
    """A place."""

    x: int


class Order(BaseModel):
    """What somebody bought."""

    item: str


def give_back(value):
    """Return what was given."""
    return value


def name_of(value) -> str:
    """Return a type's name."""
    return type(value).__name__


async def later(value):
    """Return a value a moment later."""
    await asyncio.sleep(0.01)
    return value


def area(radius):
    """Use an import of this module."""
    return math.pi * radius**2


def dear(price):
    """Use a name of this module that is no import."""
    return price * RATE


def numbers():
    """Yield numbers."""
    yield 1


@pytest.fixture
def interpreter(open_one, contract):
    opened = open_one(contract)
    opened.inject("Point", Point)
    opened.inject("Order", Order)
    opened.inject("give_back", give_back)
    opened.inject("name_of", name_of)
    opened.inject("later", later)
    return opened


@pytest.mark.parametrize(
    ("value", "type_name"),
    [
        ("(1, 'a')", "tuple"),
        ("{1: 2, (3, 4): 5}", "dict"),
        ("{1, 2}", "set"),
        ("b'\\x00\\xff'", "bytes"),
        ("1 + 2j", "complex"),
        ("Point(3)", "Point"),
        ("[Point(3), {'a': Point(4)}]", "list"),
        ("Order(item='tea')", "Order"),
        ("'x' * 2_000_000", "str"),
        ("{'a': [1, None, True, 2.5, 'b']}", "dict"),
    ],
)
def test_values_arrive_as_they_are_and_come_back(interpreter, value, type_name):
    code = f"value = {value}\nname_of(value), give_back(value) == value, type(give_back(value)) is type(value)"
    assert interpreter.run_block(code).result == f"('{type_name}', True, True)"


def test_frames_and_arrays_go_both_ways(interpreter):
    interpreter.inject("total", lambda frame: frame.assign(total=frame.v.sum()))
    code = """\
import numpy as np, pandas as pd
frame = total(pd.DataFrame({'v': [1, 2]}))
array = give_back(np.arange(3, dtype='int16'))
frame.total.tolist(), array.dtype.name, name_of(np.float64(1)), int(give_back(array.sum()))"""
    assert interpreter.run_block(code).result == "([3, 3], 'int16', 'float64', 3)"


def test_class_of_a_block_arrives_as_a_record(interpreter):
    seen = []
    interpreter.inject("take", seen.append)
    interpreter.run_block("class Own:\n    def __init__(self): self.a = 1\ntake(Own())")
    assert seen == [Record("Own", {"a": 1})]


def test_async_function_is_awaited(interpreter):
    assert interpreter.run_block("later(3), later((1, 2))").result == "(3, (1, 2))"


@pytest.mark.parametrize("value", ["lambda: 0", "open", "iter([])"])
def test_argument_that_does_not_travel_is_an_error_of_the_call(interpreter, value):
    error = interpreter.run_block(f"give_back({value})").error
    assert error.type == "ToolInvocationException"
    assert "does not travel" in error.message


def test_result_that_does_not_travel_is_an_error_of_the_tool(interpreter):
    interpreter.inject("make", lambda: [iter([])])
    error = interpreter.run_block("make()").error
    assert (error.kind, error.type) == ("tool", "ToolRuntimeException")
    assert "a value of type list_iterator does not travel" in error.message


def test_arguments_above_the_object_limit_are_refused(open_with):
    interpreter = open_with("persistent", object_limit_bytes=1 << 20)
    interpreter.inject("give_back", give_back)
    error = interpreter.run_block("give_back(bytes(2 << 20))").error
    assert "exceed the limit of 1048576; raise object_limit_bytes" in error.message
    repeated = interpreter.run_block("for _ in range(9): give_back(bytes(300_000))")
    assert repeated.error.kind == "cap"
    assert interpreter.run_block("give_back(b'x')").result == "b'x'"


def test_objects_are_recorded_by_their_types(interpreter):
    (call,) = interpreter.run_block("give_back({'a': (b'x', Point(1))})").tool_calls
    assert json.loads(call.arguments_json) == {"value": {"a": ["<bytes>", "<Point>"]}}
    assert json.loads(call.result_json) == {"a": ["<bytes>", "<Point>"]}


def add(number: int, share: float, names: list) -> float:
    """Return a sum."""
    return float(number + share + len(names))


def test_numbers_of_numpy_and_tuples_fit_typed_parameters(interpreter):
    interpreter.inject("add", add)
    result = interpreter.run_block("import numpy as np\nadd(np.int64(2), np.float32(0.5), ('a',))")
    assert result.result == "3.5"
    (call,) = result.tool_calls
    assert json.loads(call.arguments_json) == {"number": 2, "share": 0.5, "names": ["a"]}
    wrong = "import numpy as np\nadd(np.float64(2), 1, [])"
    assert "number must be int, got float64" in interpreter.run_block(wrong).error.message


def test_objects_of_calls_come_back_on_replay(open_one, tmp_path):
    first, second = open_one("persistent"), open_one("persistent")
    for one in (first, second):
        one.inject("give_back", give_back)
    first.run_block("kept = give_back({(1, 2): b'x'})")
    first.save(tmp_path / "journal.json")
    assert second.reload(tmp_path / "journal.json") == ()
    assert second.retrieve("kept") == {(1, 2): b"x"}


def test_tools_of_a_session_take_objects():
    with session("persistent", tools=[give_back]) as opened:
        assert opened.run("give_back((1, b'x'))").result == "(1, b'x')"
        assert opened.injected == []


def test_tools_of_a_study_take_json_alone(open_one):
    interpreter = open_one("persistent", {"give_back": give_back})
    assert interpreter.run_block("give_back((1, 2))").result == "[1, 2]"
    assert "arguments must be plain JSON values" in interpreter.run_block("give_back(b'x')").error.message


@pytest.mark.parametrize(
    ("function", "call", "result"),
    [
        (functools.partial(operator.mul, 2), "f(21)", "42"),
        ([3, 1, 2].count, "f(3)", "1"),
        (max, "f(3, 7)", "7"),
        (math.hypot, "f(3, 4)", "5.0"),
        (np.add, "int(f(1, 2))", "3"),
        (operator.itemgetter(1), "f((4, 5))", "5"),
        (dict.fromkeys, "f('ab')", "{'a': None, 'b': None}"),
    ],
)
def test_callables_without_a_source_run_on_the_host(open_one, function, call, result):
    interpreter = open_one("persistent")
    interpreter.inject("f", function)
    assert interpreter.run_block(call).result == result
    assert interpreter.injected[-1].kind == "function"


class Doubler:
    """An object that can be called."""

    def __init__(self):
        self.factor = 2

    def __call__(self, number):
        """Return a multiple."""
        return self.factor * number


def test_callable_object_is_a_function_or_data_as_the_caller_says(open_one):
    interpreter = open_one("persistent")
    interpreter.inject("double", Doubler())
    interpreter.inject("doubler", Doubler(), by="value")
    result = interpreter.run_block("doubler.factor = 3\ndouble(4), doubler(4)")
    assert result.result == "(8, 12)"
    assert [call.tool for call in result.tool_calls] == ["double"]


def test_source_brings_the_imports_that_it_uses(open_one):
    interpreter = open_one("persistent")
    interpreter.inject("area", area, runs_in="sandbox")
    assert interpreter.run_block("round(area(1), 2)").result == "3.14"


@pytest.mark.parametrize(("name", "function"), [("hypot", math.hypot), ("add", np.add), ("mean", np.mean)])
def test_function_of_a_library_is_imported_in_the_sandbox(open_one, name, function):
    interpreter = open_one("persistent")
    interpreter.inject("f", function, runs_in="sandbox")
    result = interpreter.run_block("f.__name__")
    assert (result.result, result.tool_calls) == (repr(name), ())


def close_over(factor):
    def scale(number):
        return factor * number

    return scale


@pytest.mark.parametrize(
    ("function", "name", "message"),
    [
        (dear, "dear", "its source uses RATE, which the sandbox lacks; inject that first"),
        (close_over(2), "scale", "its source uses factor, which the sandbox lacks"),
        (functools.partial(dear, 1), "f", "a partial has no source of its own"),
        ([].append, "f", "a builtin_function_or_method has no source of its own"),
    ],
)
def test_function_that_cannot_run_inside_is_refused_at_once(open_one, function, name, message):
    with pytest.raises(InjectionError, match=message):
        open_one("persistent").inject(name, function, runs_in="sandbox")


def test_function_may_use_what_was_injected_before(open_one):
    interpreter = open_one("persistent")
    interpreter.inject("RATE", lambda: 0)
    interpreter.inject("dear", dear, runs_in="sandbox")


def test_generator_function_is_refused_with_the_way_out(open_one):
    interpreter = open_one("persistent")
    with pytest.raises(InjectionError, match='return a list, or inject it by="reference"'):
        interpreter.inject("numbers", numbers)
    interpreter.inject("numbers", numbers, by="reference")
    assert interpreter.run_block("list(numbers())").result == "[1]"


def test_frame_is_given_back_unchanged(open_one):
    frame = pd.DataFrame({"a": [1.5, None], "b": ["x", "y"]})
    interpreter = open_one("persistent")
    interpreter.inject("make", lambda: frame)
    interpreter.run_block("made = make()")
    pd.testing.assert_frame_equal(interpreter.retrieve("made"), frame)
