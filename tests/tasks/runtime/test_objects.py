"""Objects into and out of the sandbox: data only, described for prompts without their values."""

import ast
import collections
import dataclasses
import enum
import pickle
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from pydantic import BaseModel, Field

from carryover.tasks import runtime as runtime_package
from carryover.tasks.runtime.objects import InjectionError, Record, RetrievalError
from tests.flattening import flat


@dataclasses.dataclass
class Point:
    """A place."""

    x: int
    y: float = 0.5

    def moved(self, by: int) -> "Point":
        """Return another place."""
        return Point(self.x + by, self.y)


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


def double(number: int) -> int:
    """Return twice the number."""
    return 2 * number


VALUES = [
    None,
    3,
    2.5,
    "text \N{GRINNING FACE} é",
    [1, [2, None], "x"],
    (1, (2,)),
    {1, 2},
    {"a": [1], 2: (3,)},
    b"bytes",
    float("inf"),
    10**40,
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_plain_values_come_back_equal_and_of_the_same_type(interpreter, value):
    interpreter.inject("value", value)
    back = interpreter.retrieve("value")
    assert (back, type(back)) == (value, type(value))


Pair = collections.namedtuple("Pair", ["x", "y"])


class Level(enum.IntEnum):
    LOW = 1


class Basket(BaseModel):
    """What was bought."""

    label: str
    prices: list[float] = Field(default_factory=list)


INSTANCES = [(Pair, Pair(1, [2])), (Level, Level.LOW), (Basket, Basket(label="a", prices=[1.5])), (Colour, Colour.BLUE)]


@pytest.mark.parametrize(("kind", "value"), INSTANCES[1:], ids=repr)
def test_instance_of_an_injected_class_travels_both_ways(open_one, kind, value):
    interpreter = open_one("persistent")
    interpreter.inject(kind.__name__, kind)
    interpreter.inject("given", value)
    interpreter.run_block("made = [given, given]")
    back = interpreter.retrieve("made")
    assert (back, type(back[0])) == ([value, value], kind)


@pytest.mark.parametrize("value", [value for kind, value in INSTANCES if kind is not Pair], ids=repr)
def test_class_of_an_injected_instance_comes_with_it(interpreter, value):
    interpreter.inject("given", value)
    assert interpreter.run_block("type(given).__name__").result == repr(type(value).__name__)
    assert type(value).__name__ in [entry.name for entry in interpreter.injected]


OF_THE_AGENT = [
    ("collections.namedtuple('Pair', 'x y')(1, [2])", Record("Pair", {"x": 1, "y": [2]})),
    ("enum.IntEnum('Level', 'LOW').LOW", Record("Level", {"name": "LOW", "value": 1})),
    ("pydantic.create_model('Own', a=int)(a=1)", Record("Own", {"a": 1})),
]


@pytest.mark.parametrize(("source", "expected"), OF_THE_AGENT, ids=[case[0] for case in OF_THE_AGENT])
def test_instance_of_the_agents_class_returns_as_a_record(open_one, source, expected):
    interpreter = open_one("persistent")
    assert interpreter.run_block(f"import collections, enum, pydantic\nmade = {source}").error is None
    assert interpreter.retrieve("made") == expected


OF_SUBCLASSES = ["type('Word', (str,), {})('own')", "type('Row', (list,), {})([1])", "type('Ratio', (float,), {})(0.5)"]


@pytest.mark.parametrize("source", OF_SUBCLASSES)
def test_subclass_of_plain_data_is_refused_with_the_way_out(open_one, source):
    interpreter = open_one("persistent")
    interpreter.run_block(f"made = {source}")
    with pytest.raises(RetrievalError, match=r"does not travel; convert it to (str|list|float) first"):
        interpreter.retrieve("made")


def test_text_of_any_size_comes_back(open_one):
    interpreter = open_one("persistent")
    text = "aé" * (3 << 20) + "\ud800"
    interpreter.inject("given", text)
    interpreter.run_block("made = ['short', given, {given[:2_000_000]: 1}]")
    assert interpreter.retrieve("given") == text
    assert interpreter.retrieve("made") == ["short", text, {text[:2_000_000]: 1}]


def test_plain_data_of_many_megabytes_travels(open_one):
    interpreter = open_one("persistent")
    value = ["x" * 1000] * 17_000 + [str(number) * 200 for number in range(20_000)]
    interpreter.inject("large", value)
    assert interpreter.retrieve("large") == value


def test_value_above_the_limit_is_refused_both_ways(open_with):
    interpreter = open_with("persistent", object_limit_bytes=100_000)
    with pytest.raises(InjectionError, match=r"^large: \d+ bytes exceed the limit of 100000"):
        interpreter.inject("large", bytes(100_000))
    interpreter.run_block("large = bytes(100_000)")
    with pytest.raises(RetrievalError, match=r"^large: \d+ bytes exceed the limit of 100000"):
        interpreter.retrieve("large")


@pytest.mark.parametrize("dtype", ["int64", "float32", "bool", "<U5", "datetime64[s]", "complex128"])
def test_arrays_come_back_equal(interpreter, dtype):
    array = np.arange(6).astype(dtype).reshape(2, 3)
    interpreter.inject("array", array)
    back = interpreter.retrieve("array")
    np.testing.assert_array_equal(back, array)
    assert back.dtype == array.dtype


def test_large_array_travels_through_shared_memory(interpreter):
    array = np.arange(3_000_000, dtype="float64")
    interpreter.inject("array", array)
    assert interpreter.run_block("float(array.sum()), array.nbytes").result == "(4499998500000.0, 24000000)"
    assert interpreter.retrieve("array").sum() == array.sum()


def test_polars_frame_travels_both_ways(interpreter):
    frame = pl.DataFrame({"name": ["a", None], "value": [1.5, 2.0], "flag": [True, False], "list": [[1], [2, 3]]})
    interpreter.inject("frame", frame)
    assert interpreter.run_block("frame.filter(frame['flag'])['value'].sum()").result == "1.5"
    assert interpreter.retrieve("frame").equals(frame)


def test_pandas_frame_travels_both_ways_with_its_index(interpreter):
    frame = pd.DataFrame({"value": [1.5, 2.0]}, index=pd.Index(["a", "b"], name="key"))
    interpreter.inject("frame", frame)
    assert interpreter.run_block("float(frame.loc['b', 'value'])").result == "2.0"
    pd.testing.assert_frame_equal(interpreter.retrieve("frame"), frame)


def test_index_of_a_sliced_frame_or_series_travels_both_ways(open_one):
    interpreter = open_one("persistent")
    frame, series = pd.DataFrame({"a": [1, 2, 3]}).iloc[1:], pd.Series([1, 2, 3], name="a").iloc[2:]
    interpreter.inject("part", frame)
    interpreter.inject("column", series)
    interpreter.run_block("own = part, column")
    for part, column in (interpreter.retrieve("own"), (interpreter.retrieve("part"), interpreter.retrieve("column"))):
        pd.testing.assert_frame_equal(part, frame)
        pd.testing.assert_series_equal(column, series)


def test_series_travel_both_ways(interpreter):
    interpreter.inject("series", pl.Series("numbers", [1, 2]))
    assert interpreter.retrieve("series").equals(pl.Series("numbers", [1, 2]))


def test_dataclass_comes_back_as_an_instance_of_the_injected_type(open_one):
    interpreter = open_one("persistent")
    interpreter.inject("Point", Point)
    interpreter.run_block("place = Point(1).moved(2)")
    assert interpreter.retrieve("place") == Point(3, 0.5)


def test_injected_instance_comes_back_as_a_record_of_its_fields(interpreter):
    interpreter.inject("Point", Point)
    interpreter.inject("place", Point(1, 2.0))
    assert interpreter.run_block("place.x").result == "1"
    assert interpreter.retrieve("place") == Point(1, 2.0)


def test_dataclass_of_the_agents_own_comes_back_as_a_record(open_one):
    interpreter = open_one("persistent")
    code = "from dataclasses import dataclass\n@dataclass\nclass Own:\n    a: int\n    b: list\nown = [Own(1, [2])]"
    interpreter.run_block(code)
    assert interpreter.retrieve("own") == [Record("Own", {"a": 1, "b": [2]})]


def test_injected_enumeration_is_there(interpreter):
    interpreter.inject("Colour", Colour)
    assert interpreter.run_block("Colour('red').name").result == "'RED'"


def test_descriptions_hold_signatures_and_schemas_but_no_value(interpreter):
    interpreter.inject("secret_number", 4711, description="Guess it.")
    interpreter.inject("double", double, description="Useful.")
    interpreter.inject("Point", Point)
    texts = [injected.text for injected in interpreter.injected]
    assert texts == [
        "secret_number: int\n    Guess it.",
        "def double(number: int) -> int\n    Useful.\n    Return twice the number.",
        "class Point\n    A place.\n    x: int\n    y: float\n    def moved(self, by: int) -> 'Point'\n"
        "        Return another place.",
    ]


@pytest.mark.parametrize("value", [object(), lambda: 0, [object()], np.array([object()]), pickle])
def test_what_does_not_travel_is_refused(interpreter, value):
    if callable(value) and not isinstance(value, type):
        with pytest.raises(InjectionError):
            interpreter.inject("other_name", value, runs_in="sandbox")
        return
    with pytest.raises(InjectionError, match="does not travel"):
        interpreter.inject("value", value)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("x = 1", "no variable 'y' is alive"),
        ("y = (n for n in [])", "a value of type generator does not travel"),
        ("y = {float('nan'): 1, float('nan'): 2}", "a dict with two NaNs does not travel"),
        (
            "from dataclasses import dataclass\n@dataclass(eq=False)\nclass K:\n    n: int\ny = {K(1): 1, K(1): 2}",
            "a dict whose keys are equal on arrival does not travel",
        ),
        ("y = {float('nan'), float('nan')}", "a set with two NaNs does not travel"),
        ("import numpy\ny = numpy.array([object()])", "y: a value of type object does not travel"),
    ],
)
def test_what_cannot_be_retrieved_is_told(open_one, code, message):
    interpreter = open_one("persistent")
    interpreter.run_block(code)
    with pytest.raises(RetrievalError, match=message):
        interpreter.retrieve("y")
    assert interpreter.run_block("'alive'").result == "'alive'"


def test_stateless_interpreter_has_no_variable_to_retrieve(open_one):
    interpreter = open_one("stateless")
    interpreter.run_block("x = 1")
    with pytest.raises(RetrievalError, match="no variable 'x' is alive"):
        interpreter.retrieve("x")


def test_no_module_of_the_runtime_can_unpickle():
    picklers = {"pickle", "_pickle", "cloudpickle", "dill", "shelve", "joblib", "copyreg"}
    modules = sorted(Path(runtime_package.__path__[0]).rglob("*.py"))
    imported = {name.partition(".")[0] for name in flat(imported_names(module) for module in modules)}
    assert "json" in imported
    assert imported & picklers == set()


def imported_names(module: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module


def test_dict_whose_keys_merge_is_refused_on_the_way_in(interpreter):
    with pytest.raises(InjectionError, match="a dict with two NaNs"):
        interpreter.inject("x", collections.OrderedDict({float("nan"): 1, float("nan"): 2}))
    assert interpreter.run_block("1").result == "1"


def test_retrieved_arrays_take_no_descriptor_each(open_one):
    interpreter = open_one("persistent")
    interpreter.run_block("import numpy\nx = numpy.ones(1 << 17)")
    interpreter.retrieve("x")
    descriptors = _count_descriptors_of_objects()
    held = [interpreter.retrieve("x") for _ in range(10)]
    assert _count_descriptors_of_objects() == descriptors
    assert sum(int(one.sum()) for one in held) == 10 << 17


def _count_descriptors_of_objects() -> int:
    """Count the open files in memory that hold objects; other threads open and close descriptors of their own."""
    return sum("/memfd:object" in _target(link) for link in Path("/proc/self/fd").iterdir())


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except FileNotFoundError:  # closed meanwhile
        return ""
