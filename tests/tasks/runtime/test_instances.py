"""Instances of ordinary classes in and out: by registered class, without a line of the class's own code in the host."""

import dataclasses
import datetime
import enum
import functools
import sys
import types
from dataclasses import InitVar, dataclass
from typing import Any, ClassVar, List, Optional  # noqa: UP035 - what users write

import attrs
import pytest
from pydantic import BaseModel, PrivateAttr, computed_field, field_validator

from carryover.tasks.runtime.inside.values.instances import is_library
from carryover.tasks.runtime.objects import InjectionError, Record, RetrievalError

RAN: list[str] = []


class Account:
    def __init__(self, owner: str, balance: float = 0.0) -> None:
        self.owner = owner
        self.balance = balance
        self.friends: list[Account] = []

    @property
    def doubled(self) -> float:
        return 2 * self.balance

    def deposit(self, amount: float) -> float:
        self.balance += amount
        return self.balance


class Savings(Account):
    rate: ClassVar[float] = 0.5

    def interest(self) -> float:
        return self.balance * self.rate


class Slotted:
    __slots__ = ("_hidden", "left", "unset")

    def __init__(self) -> None:
        self.left = 1
        self._hidden = [2]


class Both(Slotted):
    __slots__ = ("__dict__",)


class Watched:
    """Tells when its own code runs."""

    def __init__(self, value: int) -> None:
        self.__dict__["value"] = value

    @property
    def value(self) -> int:
        RAN.append("property")
        return self.__dict__["value"]

    @value.setter
    def value(self, value: int) -> None:
        RAN.append("setter")
        self.__dict__["value"] = value

    def __setattr__(self, name: str, value: Any) -> None:
        RAN.append("setattr")

    def __getattribute__(self, name: str) -> Any:
        if name not in ("__dict__", "__class__"):
            RAN.append("getattribute")
        return object.__getattribute__(self, name)

    def __reduce__(self) -> Any:
        RAN.append("reduce")
        return (print, ("reduced",))

    def __setstate__(self, state: Any) -> None:
        RAN.append("setstate")


@dataclass
class Trade:
    symbol: str
    amount: int = 0
    venue: ClassVar[str] = "here"
    seed: InitVar[int] = 3

    @functools.cached_property
    def text(self) -> str:
        return f"{self.symbol}:{self.amount}"


class Side(enum.Enum):
    BUY = "buy"
    SELL = "sell"


@attrs.define
class Order:
    symbol: str
    sides: list = attrs.field(factory=list)


class Portfolio(BaseModel):
    name: str
    since: Optional[datetime.datetime] = None  # noqa: UP045 - what users write
    weights: List[float] = []  # noqa: UP006
    _notes: list = PrivateAttr(default_factory=list)

    @field_validator("name")
    @classmethod
    def check_name(cls, value: str) -> str:
        if not value:
            raise ValueError("a name is missing")
        return value

    @computed_field
    @property
    def total(self) -> float:
        return sum(self.weights)


def test_ordinary_instance_goes_in_works_and_comes_back(open_one):
    interpreter = open_one("persistent")
    account = Account("ada", 5.0)
    vars(account)["nickname"] = "a"
    interpreter.inject("account", account)
    assert interpreter.run_block("account.deposit(2.5), account.doubled, account.nickname").result == "(7.5, 15.0, 'a')"
    interpreter.run_block("account.tags = {'x': 1}")
    back = interpreter.retrieve("account")
    assert type(back) is Account
    assert vars(back) == {"owner": "ada", "balance": 7.5, "friends": [], "nickname": "a", "tags": {"x": 1}}


def test_class_of_an_injected_object_is_there_with_its_base(open_one, contract):
    interpreter = open_one(contract)
    interpreter.inject("savings", Savings("bob", 4.0))
    assert interpreter.run_block("savings.interest(), type(savings).__mro__[1].__name__").result == "(2.0, 'Account')"
    assert [entry.name for entry in interpreter.injected] == ["Account", "Savings", "savings"]


def test_instance_made_in_a_block_comes_back(open_one):
    interpreter = open_one("persistent")
    interpreter.inject("Account", Account)
    interpreter.run_block("mine = Account('eve', 1.0)")
    back = interpreter.retrieve("mine")
    assert (type(back), back.doubled) == (Account, 2.0)


def test_cycle_through_instances_keeps_its_shape(open_one):
    interpreter = open_one("persistent")
    first, second = Account("a"), Account("b")
    first.friends, second.friends = [second, first], [first]
    interpreter.inject("first", first)
    assert interpreter.run_block("first.friends[0].friends[0] is first is first.friends[1]").result == "True"
    back = interpreter.retrieve("first")
    assert back.friends[0].friends[0] is back is back.friends[1]


@pytest.mark.parametrize("kind", [Slotted, Both])
def test_slots_travel_and_unset_ones_stay_unset(open_one, kind):
    interpreter = open_one("persistent")
    interpreter.inject("slotted", kind())
    assert (
        interpreter.run_block("slotted.left += 1\nslotted._hidden, hasattr(slotted, 'unset')").result == "([2], False)"
    )
    back = interpreter.retrieve("slotted")
    assert (type(back), back.left, back._hidden, hasattr(back, "unset")) == (kind, 2, [2], False)


def test_no_code_of_the_class_runs_in_the_host(open_one):
    interpreter = open_one("persistent")
    RAN.clear()
    interpreter.inject("watched", Watched(3))
    back = interpreter.retrieve("watched")
    assert RAN == []
    assert object.__getattribute__(back, "__dict__") == {"value": 3}


def test_forged_state_of_an_instance_stays_in_its_attributes(open_one):
    interpreter = open_one("persistent")
    interpreter.inject("Account", Account)
    interpreter.run_block("mine = Account('eve')\nmine.__dict__['doubled'] = 7\nmine.__dict__['deposit'] = 8")
    back = interpreter.retrieve("mine")
    assert (type(back), back.doubled, vars(back)["doubled"]) == (Account, 0.0, 7)


def test_state_with_special_names_becomes_a_record(open_one):
    interpreter = open_one("persistent")
    interpreter.inject("Account", Account)
    interpreter.run_block("mine = Account('eve')\nmine.__dict__['__class__'] = 7")
    assert isinstance(interpreter.retrieve("mine"), Record)


def test_dataclass_keeps_attributes_that_are_no_fields(open_one):
    interpreter = open_one("persistent")
    trade = Trade("X", 3)
    vars(trade)["note"] = "extra"
    assert trade.text == "X:3"
    interpreter.inject("trade", trade)
    assert interpreter.run_block("trade.note, trade.__dict__['text'], trade.venue").result == "('extra', 'X:3', 'here')"
    assert interpreter.run_block("import dataclasses\n[f.name for f in dataclasses.fields(trade)]").result == (
        "['symbol', 'amount']"
    )
    interpreter.run_block("trade.more = 1")
    assert vars(interpreter.retrieve("trade")) == {**vars(trade), "more": 1}


def test_enumeration_of_an_injected_object_travels(open_one):
    interpreter = open_one("persistent")
    interpreter.inject("sides", [Side.BUY, {Side.SELL: 1}])
    assert interpreter.run_block("sides[0].name").result == "'BUY'"
    assert interpreter.retrieve("sides") == [Side.BUY, {Side.SELL: 1}]


def test_attrs_instance_travels(open_one):
    interpreter = open_one("persistent")
    interpreter.inject("order", Order("X", ["a"]))
    assert interpreter.run_block("order.sides.append('b')\norder").result == "Order(symbol='X', sides=['a', 'b'])"
    assert interpreter.retrieve("order") == Order("X", ["a", "b"])


def test_pydantic_model_travels_with_its_validators(open_one):
    interpreter = open_one("persistent")
    portfolio = Portfolio(name="p", since=datetime.datetime(2026, 1, 2), weights=[0.5, 0.25])
    portfolio._notes.append("private")
    interpreter.inject("portfolio", portfolio)
    result = interpreter.run_block(
        "portfolio.total, portfolio.since.year, portfolio._notes, Portfolio(name='q').weights"
    )
    assert result.result == "(0.75, 2026, ['private'], [])"
    assert interpreter.run_block("Portfolio(name='')").error.type == "ValidationError"
    back = interpreter.retrieve("portfolio")
    assert (back, back._notes) == (portfolio, ["private"])


def test_instance_of_a_block_own_class_comes_back_as_a_record(open_one):
    interpreter = open_one("persistent")
    interpreter.run_block("class Own:\n    def __init__(self): self.a, self.b = 1, [2]\nown = Own()")
    assert interpreter.retrieve("own") == Record("Own", {"a": 1, "b": [2]})


@pytest.mark.parametrize(
    ("code", "named"),
    [
        ("import threading\nx = threading.Lock()", "lock"),
        ("import re\nx = re.match('a', 'a')", "Match"),
        ("x = open('/dev/null')", "TextIOWrapper"),
        ("class Own(dict): pass\nx = Own()", "Own"),
        ("class Own: pass\nx = Own()\nx.held = (i for i in [])", "generator"),
    ],
)
def test_what_is_more_than_attributes_is_refused_by_name(open_one, code, named):
    interpreter = open_one("persistent")
    assert interpreter.run_block(code).error is None
    with pytest.raises(RetrievalError, match=named):
        interpreter.retrieve("x")


def test_instance_of_a_class_without_a_source_is_refused(open_one):
    made = type("Made", (), {"__module__": __name__})()
    with pytest.raises(InjectionError, match=r"Made: source unavailable .*; define it in a file"):
        open_one("persistent").inject("made", made)


def test_two_classes_of_one_name_are_told_apart(open_one):
    interpreter = open_one("persistent")
    interpreter.inject("Account", Account)
    other = dataclasses.make_dataclass("Account", ["owner"])
    other.__module__ = __name__
    with pytest.raises(InjectionError, match="inject Account"):
        interpreter.inject("other", other("x"))


def parsed(text: str) -> Optional[datetime.date]:  # noqa: UP045 - what users write
    """Return the date in a text."""
    return datetime.date.fromisoformat(text) if text else None


def test_source_of_a_function_brings_the_imports_of_its_module(open_one, contract):
    interpreter = open_one(contract)
    interpreter.inject("parsed", parsed, runs_in="sandbox")
    assert interpreter.run_block("parsed('2026-01-02').day").result == "2"


@pytest.mark.parametrize(("name", "is_one"), [("somebody.tools", True), ("carryover.tasks.tools", False)])
def test_carryover_is_no_library_where_a_wheel_installs_it(monkeypatch, name, is_one):
    module = types.ModuleType(name)
    module.__file__ = f"/usr/lib/python3/site-packages/{name.replace('.', '/')}.py"
    monkeypatch.setitem(sys.modules, name, module)
    assert is_library(name) is is_one
