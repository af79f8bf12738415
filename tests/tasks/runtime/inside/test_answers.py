"""Answers about variables, without a sandbox."""

import fractions
import os
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from carryover.tasks.runtime.inside.answers import Answers


class Posing(type):
    """Bends the name of its classes."""

    @property
    def __name__(cls) -> str:  # pyright: ignore[reportIncompatibleVariableOverride] - which is what it bends
        return "Posed"


def answers_about(values: Mapping[str, Any]) -> Answers:
    runner: Any = SimpleNamespace(user_values=lambda: values, namespace=values)
    return Answers(runner, builds_late=False)


def test_types_are_named_with_their_library():
    own = type("Own", (), {"__module__": "__main__"})
    bent = Posing("Bent", (), {"__module__": "__main__"})
    nested = type("Nested", (), {"__module__": "library.part"})
    long = type("L" * 200, (), {"__module__": "__main__"})
    found = answers_about(
        {"a": 1, "b": own(), "c": bent(), "d": fractions.Fraction(1), "e": nested(), "f": long()}
    ).types()
    assert found == {
        "a": "int",
        "b": "Own",
        "c": "Bent",
        "d": "fractions.Fraction",
        "e": "library.Nested",
        "f": "L" * 100,
    }


def test_a_sent_value_is_let_go():
    answers = answers_about({"x": "large"})
    size = answers.fetch("x")["size"]
    descriptor = os.memfd_create("blob")
    os.truncate(descriptor, size)
    assert answers.fill(descriptor) is None
    assert answers._outgoing is None
