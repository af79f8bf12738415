"""References in a block: what each use asks of the host."""

from typing import Any

import pytest

from carryover.tasks.runtime.inside.references import References
from carryover.tasks.runtime.inside.values.portable import Reference

METHODS = [["add", "(row)\n\nAdds a row."]]
OPERATORS = [
    "__call__",
    "__len__",
    "__iter__",
    "__getitem__",
    "__setitem__",
    "__delitem__",
    "__contains__",
    "__enter__",
]
OTHERS = ["__next__", "__exit__"]


class Host:
    """Notes what is asked, and answers what is left to answer."""

    def __init__(self, *answers: Any) -> None:
        self.asked: list[Any] = []
        self.answers = list(answers)

    def call(self, tool: str, arguments: tuple[Any, ...], keywords: dict[str, Any], *, takes_objects: bool) -> Any:
        assert takes_objects
        self.asked.append((tool, arguments, keywords))
        return self.answers.pop(0) if self.answers else None


def held(host: Any, operators: list[str]) -> Any:
    return References(host).refer("t", "Table", "A table.", METHODS, operators)


def test_each_use_is_a_call_of_the_handle():
    host = Host(5, 1, iter([2]), 3, None, None, True, "entered", None, "read")
    table = held(host, [*OPERATORS, *OTHERS])
    assert table(1, a=2) == 5
    assert len(table) == 1
    assert next(iter(table)) == 2
    assert table["a"] == 3
    table["a"] = 4
    del table["a"]
    assert "a" in table
    with table as entered:
        assert entered == "entered"
    assert table.name == "read"
    table.name = 6
    table.add(7, b=8)
    assert host.asked == [
        ("t.__call__", (1,), {"a": 2}),
        ("t.__len__", (), {}),
        ("t.__iter__", (), {}),
        ("t.__getitem__", ("a",), {}),
        ("t.__setitem__", ("a", 4), {}),
        ("t.__delitem__", ("a",), {}),
        ("t.__contains__", ("a",), {}),
        ("t.__enter__", (), {}),
        ("t.__exit__", (None, None), {}),
        ("t.name", (), {}),
        ("t.name", (6,), {}),
        ("t.add", (7,), {"b": 8}),
    ]


def test_what_is_asked_next_comes_in_a_list_or_has_ended():
    table = held(Host([5], []), OTHERS)
    assert next(table) == 5
    with pytest.raises(StopIteration):
        next(table)


def test_error_that_leaves_a_block_is_told_by_name():
    host = Host(None, False)
    table = held(host, ["__enter__", "__exit__"])
    with pytest.raises(ValueError, match="wrong"), table:
        raise ValueError("wrong")
    assert host.asked[1] == ("t.__exit__", ("ValueError", "wrong"), {})


def test_operators_that_are_not_named_are_missing():
    table = held(Host(), [])
    kind = type(table)
    assert not any(name in vars(kind) for name in (*OPERATORS, *OTHERS))
    with pytest.raises(TypeError):
        len(table)


def test_stand_in_is_documented_like_the_object():
    table = held(Host(), [])
    kind = type(table)
    assert isinstance(table, Reference)
    assert (kind.__name__, kind.__module__, kind.__doc__) == ("Table", "__main__", "A table.")
    assert repr(table) == "<Table t, kept by the host>"
    assert (kind.add.__name__, kind.add.__qualname__, kind.add.__doc__) == ("add", "add", "(row)\n\nAdds a row.")
    assert not hasattr(table, "__dict__")


def test_private_attributes_stay_with_the_host():
    host = Host()
    table = held(host, [])
    with pytest.raises(AttributeError, match="'Table' object has no attribute '_rows'"):
        table._rows  # noqa: B018
    with pytest.raises(AttributeError, match="'Table' object has no attribute '_rows'"):
        table._rows = 1
    assert host.asked == []


def test_one_handle_is_one_object_and_one_shape_one_class():
    host: Any = Host()
    references = References(host)

    def refer(handle: str, **others: Any) -> Any:
        said = {"type_name": "Table", "documentation": "", "methods": METHODS, "operators": ["__len__"], **others}
        return references.refer(handle, **said)

    first = refer("a")
    assert refer("a") is first
    assert refer("b") is not first
    assert type(refer("b")) is type(first)
    others = [refer("c", type_name="Other"), refer("d", methods=[]), refer("e", operators=[])]
    assert len({type(first), *map(type, others)}) == 4
