from typing import Any, ClassVar

from carryover.tasks.runtime.inside.values import plain
from carryover.tasks.runtime.inside.values.instances import state_of


class Slotted:
    __slots__ = ("a", "b", "c")


class Both(Slotted):
    pass


def test_a_state_holds_slots_that_are_set_and_attributes():
    value: Any = Both()
    value.b = 1
    value.d = 2
    assert state_of(value) == {"b": 1, "d": 2}
    value.c = value.a = 3
    assert state_of(value) == {"a": 3, "b": 1, "c": 3, "d": 2}


class Model:
    """Made by Pydantic, as far as its marks tell."""

    __pydantic_fields__: ClassVar = {"count": int, "root": int}
    root = None


class Derived(Model):
    __pydantic_fields__: ClassVar = {"root": int}


def test_a_model_s_none_is_set_unless_its_class_holds_it():
    *_, fill = plain.CODECS["class.record"]
    target = object.__new__(Model)
    assert callable(fill)
    fill(target, ["Model", "count", None, "root", None])
    assert vars(target) == {"count": None}
    fill(target, ["Model", "root", 5])
    assert vars(target) == {"count": None, "root": 5}
    derived = object.__new__(Derived)
    fill(derived, ["Derived", "root", None])
    assert vars(derived) == {}
