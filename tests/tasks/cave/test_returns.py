"""Typed results: the agent is told what to bind, and a mismatch goes back to it."""

import dataclasses
import re
from datetime import datetime
from typing import Any, cast

import pandas as pd
import polars as pl
import pytest
from pydantic import BaseModel, ConfigDict, Field

from carryover.tasks.cave.returns import Expected, WrongResultError
from carryover.tasks.cave.scripted import block, scripted
from carryover.tasks.runtime.objects import Record
from carryover.tasks.traces.vocabulary import FinishReason
from tests.tasks.runtime import declared_classes as declared


class Portfolio(BaseModel):
    """Shares by name."""

    shares: dict[str, int]
    cash: float = Field(default=0.0, ge=0)


@dataclasses.dataclass
class Trade:
    """A purchase."""

    name: str
    count: int


class Plain:
    """A class without fields."""


def test_result_of_a_type_is_validated_and_returned(open_agent, watched, either_runtime):
    model = watched(scripted(block("result = Portfolio(shares={'a': 1}, cash=2)"), "Done."))
    agent = open_agent(model, on=either_runtime)
    answer = agent.ask("Buy.", returns=Portfolio)
    assert (answer.stop, answer.value) == (FinishReason.ANSWER, Portfolio(shares={"a": 1}, cash=2.0))
    assert "Bind the result to the name `result` before you answer. It must be: Portfolio." in model.shown(0)
    assert "class Portfolio" in model.requests[0].messages[0].content


def test_mismatch_goes_back_as_an_observation(open_agent, watched):
    model = watched(
        scripted(
            block("mine = Portfolio(shares={})\nmine.cash = -1.0"),
            "Done.",
            "Done, I say.",
            block("mine = {'shares': {'a': '2'}}"),
            "Done now.",
        )
    )
    answer = open_agent(model).ask("Buy.", returns=Portfolio, result_name="mine")
    assert (str(answer), answer.value) == ("Done now.", Portfolio(shares={"a": 2}))
    assert "The result `mine` is not what was asked for:\ncash: Input should be greater than or equal" in model.shown(2)


def test_missing_result_is_a_mismatch(open_agent, watched):
    model = watched(scripted("Done.", block("result = 3"), "Done."))
    answer = open_agent(model).ask("Count.", returns=int)
    assert answer.value == 3
    assert "no variable 'result' is alive" in model.shown(1)


def test_answer_is_given_up_after_so_many_attempts(open_agent, watched):
    model = watched(scripted(*["Done."] * 9))
    answer = open_agent(model).ask("Count.", returns=int, attempts=2)
    assert (answer.stop, answer.value, len(model.requests)) == (FinishReason.ERROR, None, 3)
    assert "no variable 'result' is alive" in answer.text


def test_question_without_a_type_has_no_value(open_agent):
    assert open_agent("Done.").ask("Go.").value is None


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (int, "3", 3),
        (list[int], (1, 2), [1, 2]),
        (dict[str, Trade], {"a": Trade("x", cast(Any, "3"))}, {"a": Trade("x", 3)}),
        (list[Portfolio], [Portfolio.model_construct(shares={"a": 1}, cash=1)], [Portfolio(shares={"a": 1}, cash=1)]),
        (int | None, None, None),
    ],
)
def test_value_is_what_pydantic_makes_of_it(kind, value, expected):
    asked = Expected(kind, "result", 0)
    asked.accept(value)
    assert asked.value == expected


class Aliased(BaseModel):
    """A field of two names."""

    name: str = Field(alias="as")


class TakesNamesOnly(BaseModel):
    """The same, of a class that takes no alias by itself."""

    model_config = ConfigDict(validate_by_alias=False, validate_by_name=True)
    name: str = Field(alias="as")


@pytest.mark.parametrize("value", [{"as": "x"}, {"name": "x"}, Aliased.model_validate({"as": "x"})])
@pytest.mark.parametrize("kind", [Aliased, TakesNamesOnly])
def test_fields_are_given_by_name_or_alias(kind, value):
    asked = Expected(kind, "result", 0)
    asked.accept(value)
    assert asked.value == kind.model_construct(name="x")


class Configured(BaseModel):
    """A class with a configuration of its own."""

    model_config = ConfigDict(extra="forbid")
    plain: Any


def test_instances_within_values_are_validated_as_their_data():
    trade = Trade("x", 1)
    for kind, value, expected in (
        (list[dict[str, Any]], [trade], [{"name": "x", "count": 1}]),
        (tuple[Any, ...], (trade, Trade), ({"name": "x", "count": 1}, Trade)),
        (dict[str, Any], {"a": Record("Trade", {"name": trade})}, {"a": {"name": {"name": "x", "count": 1}}}),
        (Configured, {"plain": {1}}, Configured(plain={1})),
    ):
        asked = Expected(kind, "result", 0)
        asked.accept(value)
        assert asked.value == expected
    with pytest.raises(WrongResultError, match=r"^more: Extra inputs are not permitted$"):
        Expected(Configured, "result", 0).accept({"plain": 1, "more": 2})


@pytest.mark.parametrize(
    ("kind", "classes"),
    [
        (Trade, [Trade]),
        (dict[str, Trade] | list[Portfolio], [Trade, Portfolio]),
        (list[int] | None, []),
        ({"a": int}, []),
        (int, []),
    ],
)
def test_the_users_classes_of_a_type_are_found(kind, classes):
    assert Expected(kind, "result", 0).classes() == classes


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_frame_is_checked_by_its_columns(make):
    asked = Expected({"customer": str, "euro": float, "count": int}, "totals", 0)
    assert asked.request().endswith(
        "It must be: a DataFrame with the columns customer (str), euro (float), count (int)."
    )
    frame = make({"customer": ["a"], "euro": [1], "count": [2], "more": [True]})
    asked.accept(frame)
    assert asked.value is frame
    with pytest.raises(WrongResultError, match="it has no column euro, count; it has customer"):
        asked.accept(make({"customer": ["a"]}))
    with pytest.raises(WrongResultError, match="column customer holds int, not str\ncolumn count holds float, not int"):
        asked.accept(make({"customer": [1], "euro": [1.0], "count": [2.5]}))
    with pytest.raises(WrongResultError, match="it is a list, not a DataFrame"):
        asked.accept([])


def test_column_of_an_unknown_type_is_refused():
    with pytest.raises(ValueError, match="column 'a' of unknown type 'Plain'; choose from int, float"):
        Expected({"a": Plain}, "result", 0)


@pytest.mark.parametrize("kind", [3, "no type", [1], print])
def test_what_is_no_type_is_refused(kind):
    told = f"no value can be validated as {kind!r}; give a type, or a frame's columns"
    with pytest.raises(ValueError, match=re.escape(told)):
        Expected(kind, "result", 0)


def test_instance_of_an_ordinary_class_is_accepted_as_it_is():
    asked = Expected(Plain, "result", 0)
    plain = Plain()
    asked.accept(plain)
    assert asked.value is plain
    with pytest.raises(WrongResultError, match="Input should be an instance of Plain"):
        asked.accept(3)


def test_class_that_another_one_brings_is_injected_once(open_agent):
    runtime = open_agent("Done.").runtime
    Expected(list[declared.Owner] | dict[str, declared.Home], "result", 0).inject_classes(runtime)
    names = [entry.name for entry in runtime.interpreter.injected]
    assert sorted(set(names)) == sorted(names)
    assert {"Owner", "Home"} <= set(names)


def test_ten_faults_are_told_and_the_rest_counted():
    def told(count):
        with pytest.raises(WrongResultError) as refused:
            Expected(list[int], "result", 0).accept(["x"] * count)
        return str(refused.value).splitlines()

    place = ": Input should be a valid integer, unable to parse string as an integer"
    assert told(10) == [f"{number}{place}" for number in range(10)]
    assert told(12) == [*(f"{number}{place}" for number in range(10)), "... and 2 more"]
    with pytest.raises(WrongResultError, match=r"^value: Input should be a valid integer"):
        Expected(int, "result", 0).accept("x")


@pytest.mark.parametrize("library", [pd, pl])
def test_cells_of_every_kind_are_told_apart(library):
    day = datetime(2026, 1, 1)
    cells = {"int": 1, "float": 1.5, "bool": True, "str": "a", "datetime": day}
    frame = library.DataFrame({kind: [value] for kind, value in cells.items()})
    for column in cells:
        for wanted in cells:
            expected = Expected({column: wanted}, "result", 0)
            if wanted == column or (column, wanted) == ("int", "float"):
                expected.accept(frame)
                assert expected.value is frame
            else:
                with pytest.raises(WrongResultError, match=f"^column {column} holds {column}, not {wanted}$"):
                    expected.accept(frame)


@pytest.mark.parametrize("dtype", [object, "string", "str"])
def test_texts_of_pandas_are_texts_in_any_dtype(dtype):
    Expected({"a": "str"}, "result", 0).accept(pd.DataFrame({"a": pd.Series(["x"], dtype=dtype)}))


def test_the_type_asked_for_is_told_by_name():
    assert Expected(int, "result", 0).request().endswith("It must be: int.")
    assert Expected(list[int] | None, "total", 0).request() == (
        "Bind the result to the name `total` before you answer. It must be: list[int] | None."
    )
