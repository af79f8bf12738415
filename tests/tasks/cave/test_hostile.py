"""A hostile object handed back by agent code does nothing in the host."""

import dataclasses
import sys
from pathlib import Path
from typing import Any

import pytest

from carryover.tasks.cave.agent import Agent
from carryover.tasks.cave.scripted import block, scripted
from carryover.tasks.cave.society import hand_over
from carryover.tasks.runtime.objects import InjectionError, Record, RetrievalError

TRAPS = """
import builtins, collections, dataclasses, enum
MARK = {mark!r}
def strike(*_, **__):
    builtins.__import__("os").system("touch " + MARK)
    builtins.open(MARK, "w").close()
    return 0
class Reduced:
    def __reduce__(self): return (strike, ())
    __reduce_ex__ = __getstate__ = __reduce__
class Acting(dict):
    keys = items = values = __iter__ = __getitem__ = __eq__ = __len__ = __repr__ = __hash__ = strike
class Lying(type):
    __name__ = property(strike)
    def __instancecheck__(self, other): return True
    def __getattribute__(self, name): return strike if name == "mro" else type.__getattribute__(self, name)
class Text(str):
    __str__ = __repr__ = encode = __hash__ = __eq__ = strike
    __hash__ = str.__hash__
Point = dataclasses.make_dataclass("Point", ["x", "__class__"])
class Masked:
    @property
    def __class__(self): strike(); return dict
    __getattr__ = strike
reduced = Reduced()
acting = Acting(a=Text("b"))
lying = Lying("Lying", (), {{}})()
nested = [[Reduced()]]
masked = Masked()
point = object.__new__(Point)
object.__getattribute__(point, "__dict__").update(x=Text("x"))
cyclic = []; cyclic.append(cyclic)
deep = None
for _ in range(5000): deep = [deep]
"""
NAMES = ("reduced", "acting", "lying", "nested", "masked", "point", "cyclic", "deep")


@dataclasses.dataclass
class Point:
    """A type that the host injected, and that a block defines anew with other fields."""

    x: int

    def __post_init__(self) -> None:
        raise AssertionError("the host ran code of the type")


def is_plain(value: object) -> bool:
    """Tell whether a value is of builtin types and records alone, however deep or cyclic."""
    waiting: list[Any] = [value]
    seen: dict[int, Any] = {}
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen[id(one)] = one
        if type(one) is Record:
            waiting += [one.type_name, one.fields]
            continue
        if type(one).__module__ != "builtins":
            return False
        if type(one) in (list, tuple, dict):
            waiting += [*one, *one.values()] if type(one) is dict else [*one]
    return True


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    return tmp_path / "struck"


@pytest.fixture
def hostile(open_agent, either_runtime, mark) -> Agent:
    agent = open_agent(block(TRAPS.format(mark=str(mark))), "Done.", on=either_runtime)
    agent.inject("PointOfTheHost", 1)
    agent.ask("Make objects.")
    return agent


def test_hostile_objects_return_as_plain_data_or_not_at_all(hostile, mark):
    modules = set(sys.modules)
    for name in NAMES:
        try:
            value = hostile.retrieve(name)
        except RetrievalError:
            continue
        assert is_plain(value), name
    assert not mark.exists()
    assert {module for module in set(sys.modules) - modules if "carryover" in module} == set()


def test_types_of_hostile_objects_are_listed_as_text(hostile, mark):
    types = hostile.variables()
    assert set(NAMES) <= set(types)
    assert all(type(kind) is str for kind in types.values())
    assert not mark.exists()


def test_hostile_objects_pass_through_the_host_without_effect(hostile, open_agent, mark):
    other = open_agent("unused")
    for name in NAMES:
        try:
            hand_over(name, hostile, other)
        except (RetrievalError, InjectionError):
            continue
    assert not mark.exists()


def test_hostile_state_is_saved_and_resumed_without_effect(hostile, either_runtime, save_file, mark):
    hostile.save(save_file)
    with Agent.resume(save_file, scripted("", "", "Done."), runtime=either_runtime) as resumed:
        assert set(NAMES) <= set(resumed.variables())
    assert not mark.exists()


def test_a_redefined_type_runs_no_code_on_the_host(open_agent, either_runtime):
    agent = open_agent(block("forged = Point.__new__(Point)\nforged.x = 'text'"), "Done.", on=either_runtime)
    agent.inject("Point", Point)
    agent.ask("Forge one.")
    forged = agent.retrieve("forged")
    assert (type(forged), forged.x) == (Point, "text")
