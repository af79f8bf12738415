"""Any value, both ways, on both backends: equal or refused by name, and the interpreter lives on."""

import datetime
import decimal
import enum
import math
import uuid
from collections import Counter, OrderedDict, deque
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from carryover.tasks.runtime.contract import CONTRACTS
from carryover.tasks.runtime.objects import InjectionError, RetrievalError

SETTINGS = settings(
    max_examples=5, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


class Word(str):
    """A text of a class that does not travel."""


class Colour(enum.Enum):
    RED = 1


zones = st.sampled_from([None, datetime.UTC, datetime.timezone(datetime.timedelta(hours=-3), "X")])
keys = st.one_of(st.none(), st.booleans(), st.integers(), st.text(), st.binary(), st.dates(), st.uuids())
leaves = st.one_of(
    keys,
    st.floats(),
    st.complex_numbers(),
    st.decimals(),
    st.fractions(),
    st.datetimes(timezones=zones),
    st.timedeltas(),
    st.integers(4_300, 5_000).map(lambda digits: -(10**digits)),
    st.sampled_from(["é" * 70_000, bytes(70_000), bytearray(), b"", "", range(0), 2**63]),
    st.sampled_from([np.array([]), np.zeros((0, 3)), np.array(1), np.array([{1}], object), np.float32("nan")]),
    st.sampled_from([pd.DataFrame(), pd.Series([1, None], dtype="Int64"), pd.NaT, pd.Timestamp(0, tz="UTC")]),
    st.sampled_from([pl.DataFrame(), pl.Series(["a", None]), pa.table({}), pa.array([[1], None])]),
    st.sampled_from([Word("x"), Colour.RED, object(), len, iter([]), Ellipsis]),
)


def containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=3).map(tuple),
        st.lists(inner, max_size=3).map(deque),
        st.sets(keys, max_size=4),
        st.frozensets(keys, max_size=4),
        st.dictionaries(keys, inner, max_size=3),
        st.dictionaries(keys, inner, max_size=3).map(OrderedDict),
        st.lists(st.text(max_size=2)).map(Counter),
        inner.map(lambda value: [value, [value]]),
        inner.map(looped),
    )


def looped(value: Any) -> list[Any]:
    """Return a list that holds itself, twice."""
    loop: list[Any] = [value]
    loop += [(loop,), {"loop": loop}]
    return loop


values = st.recursive(leaves, containers, max_leaves=8)
REFUSED = (Word, object, type(len), type(iter([])))


def is_equal(one: Any, other: Any, seen: frozenset[tuple[int, int]] = frozenset()) -> bool:  # noqa: PLR0911
    """Tell whether two values are of one type and equal, missing numbers and cycles included."""
    if type(one) is not type(other):
        return False
    if (id(one), id(other)) in seen:
        return True
    seen |= {(id(one), id(other))}
    if isinstance(one, (list, tuple, deque)):
        return len(one) == len(other) and all(is_equal(*pair, seen) for pair in zip(one, other, strict=True))
    if isinstance(one, dict):
        return is_equal(list(one), list(other), seen) and is_equal(list(one.values()), list(other.values()), seen)
    if isinstance(one, (np.ndarray, np.generic)):
        is_same = one.dtype == other.dtype and one.shape == other.shape and one.flags.fnc == other.flags.fnc
        return is_same and is_equal(one.ravel().tolist(), other.ravel().tolist(), seen)
    if hasattr(one, "equals"):
        return one.equals(other)
    if isinstance(one, complex):
        return is_equal([one.real, one.imag], [other.real, other.imag], seen)
    if isinstance(one, decimal.Decimal) or (isinstance(one, float) and math.isnan(one)):
        return repr(one) == repr(other)  # a signalling NaN raises where it is compared
    return one is other or one == other


def holds_refused(value: Any, seen: set[int]) -> bool:
    if id(value) in seen:
        return False
    seen.add(id(value))
    if isinstance(value, (list, tuple, deque)):
        return any(holds_refused(item, seen) for item in value)
    if isinstance(value, dict):
        return any(holds_refused(item, seen) for item in value.values())
    return type(value) in REFUSED


def assert_travels(runtime, contract: str, examples: list[Any]) -> None:
    """Check that each example comes back equal, or is refused: a function at the latest when it is asked back."""
    interpreter = runtime.open_interpreter(CONTRACTS[contract], {}, instance_id="a")
    try:
        for value in examples:
            is_refused = holds_refused(value, set())
            try:
                interpreter.inject("v", value)
                if contract == "persistent":
                    assert interpreter.run_block("w = [v, v]").error is None
                    back = interpreter.retrieve("w")
                    assert is_equal(back, [value, value])
                assert is_equal(interpreter.retrieve("v"), value)
                assert not is_refused
            except (InjectionError, RetrievalError):
                assert is_refused
            assert interpreter.run_block("'alive'").result == "'alive'"
    finally:
        interpreter.close()


@pytest.mark.parametrize("contract", ["persistent", "stateless"])
@SETTINGS
@given(examples=st.lists(values, min_size=3, max_size=6))
def test_any_value_travels_or_is_refused_by_name(fork_tree, contract, examples):
    assert_travels(fork_tree, contract, examples)


@pytest.mark.kernel
@pytest.mark.parametrize("contract", ["persistent", "stateless"])
@settings(parent=SETTINGS, max_examples=2)
@given(examples=st.lists(values, min_size=8, max_size=12))
def test_any_value_travels_through_a_kernel_or_is_refused(jupyter, contract, examples):
    assert_travels(jupyter, contract, examples)


EMPTY = [
    b"",
    bytearray(),
    [b""],
    np.array([]),
    np.zeros((0, 3)),
    10**5000,
    [],
    {},
    set(),
    "",
    pd.DataFrame(),
    uuid.UUID(int=0),
]


def test_layout_and_flags_of_arrays_and_frames_travel(open_one):
    interpreter = open_one("persistent")
    columns, fixed = np.asfortranarray([[1, 2], [3, 4]]), np.arange(3)
    fixed.flags.writeable = False
    unique = pd.DataFrame({"a": [1]}).set_flags(allows_duplicate_labels=False)
    interpreter.inject_all({"columns": columns, "fixed": fixed, "unique": unique, "one": unique["a"]})
    shown = interpreter.run_block(
        "columns.flags.f_contiguous, fixed.flags.writeable, unique.flags.allows_duplicate_labels, columns.tolist()"
    )
    assert shown.result == "(True, False, False, [[1, 2], [3, 4]])"
    assert interpreter.retrieve("columns").flags.fnc
    interpreter.inject("objects", np.asfortranarray(np.array([[1, "x"], [2, "y"]], dtype=object)))
    assert interpreter.retrieve("objects").flags.fnc
    assert not interpreter.retrieve("fixed").flags.writeable
    assert not interpreter.retrieve("one").flags.allows_duplicate_labels


CHANGES = {
    "a[0] = 'y'": pd.Series(pd.Categorical(["x", "y"])),
    "a[0] = a[1]": pd.Series(pd.to_datetime(["2020", "2021"], utc=True)),
    "a[1] = a[0]": pd.Series(pd.to_timedelta([1, 2])),
    "a[1] = a[0]; a[0]": pd.Series(pd.period_range("2020", periods=2, freq="M")),
    "a[0] = 5": pd.Series([1, None], dtype="Int64"),
    "a[0] = a[1]; a": pd.array(pd.to_datetime(["2020", "2021"])),
    "a.loc[0, 'k'] = 'y'": pd.DataFrame({"k": pd.Categorical(["x", "y"])}),
    "a[0, 0] = 3": np.asfortranarray(np.array([[1, "x"], [2, "y"]], dtype=object)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_mutable_value_is_mutable_on_arrival(open_one, change):
    interpreter = open_one("persistent")
    interpreter.inject("a", CHANGES[change])
    assert interpreter.run_block(change).error is None
    exec(change, {"a": interpreter.retrieve("a")})


@pytest.mark.parametrize("value", EMPTY, ids=lambda value: repr(value)[:30] if value is not EMPTY[5] else "huge")
def test_empty_and_huge_values_leave_the_interpreter_alive(open_one, contract, value):
    interpreter = open_one(contract)
    interpreter.run_block("kept = 1")
    interpreter.inject("v", value)
    assert is_equal(interpreter.retrieve("v"), value)
    assert interpreter.run_block("'kept' in globals()").result == repr(contract.name == "persistent")


def test_made_values_that_do_not_travel_are_refused_by_name(open_one):
    interpreter = open_one("persistent")
    for source in ("object()", "[len]", "(i for i in [])", "type('Word', (str,), {})('x')"):
        interpreter.run_block(f"made = {source}")
        with pytest.raises(RetrievalError, match=r"made: a value of type .* does not travel"):
            interpreter.retrieve("made")
    assert interpreter.run_block("'alive'").result == "'alive'"
