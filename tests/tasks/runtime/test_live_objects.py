"""Live objects as the host holds them, without a sandbox."""

import builtins
import functools
import inspect
import sys
from typing import Any

import pytest

from carryover.tasks.runtime import references as module
from carryover.tasks.runtime.describe import describe_live
from carryover.tasks.runtime.inside.tools import ToolError, ToolInvocationException, ToolRuntimeException
from carryover.tasks.runtime.inside.values.portable import NotPortableError
from carryover.tasks.runtime.references import References, refuse_unknown, shape_of


class Shelf:
    """A shelf.

    Of books.
    """

    size = 3

    def __init__(self) -> None:
        self.books = ["a", "b"]
        self.left: list[Any] = []
        self._secret = 1

    def __len__(self) -> int:
        return len(self.books)

    def __iter__(self):
        return iter(self.books)

    def __getitem__(self, place: int) -> str:
        return self.books[place]

    def __setitem__(self, place: int, book: str) -> None:
        self.books[place] = book

    def __call__(self, number: int, *, factor: int = 1) -> int:
        return number * factor

    def __enter__(self) -> "Shelf":
        return self

    def __exit__(self, *raised: Any) -> str:
        self.left.append(raised)
        return "truthy"

    __contains__ = None  # pyright: ignore[reportAssignmentType]

    def add(self, book: str, *, at_end: bool = True) -> int:
        """Add a book.

        And more.
        """
        self.books.append(book)
        return len(self.books)

    @staticmethod
    def fail(kind: Any, *arguments: Any) -> None:
        raise kind(*arguments)

    @property
    def width(self) -> int:
        """Its width.

        In books.
        """
        return len(self.books)

    @functools.cached_property
    def height(self) -> int:
        return 1

    def _hidden(self) -> None:
        """Do nothing."""


SHAPE = (
    "Shelf",
    "A shelf.\n\nOf books.",
    (
        ("add", "(self, book: str, *, at_end: bool = True) -> int\n\nAdd a book."),
        ("fail", "(kind: Any, *arguments: Any) -> None"),
    ),
    ("__len__", "__iter__", "__getitem__", "__call__", "__setitem__", "__enter__", "__exit__"),
)


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
def references(shelf) -> References:
    held = References()
    held.share("shelf", shelf, None)
    return held


def use(references: References, name: str, *arguments: Any, **keywords: Any) -> Any:
    operation = references.find(f"shelf.{name}")
    assert operation is not None
    assert operation.takes_objects
    assert operation.bind([*arguments], keywords) is None
    return operation.call([*arguments], keywords, None)


def test_object_is_shared_with_its_shape(references, shelf):
    assert shape_of(shelf, None) == SHAPE
    assert references.share("shelf", shelf, None) == ["shelf", *SHAPE]
    assert references.share("shelf", Shelf(), None) == ["shelf'", *SHAPE]
    assert references.standing_for(shelf) == ["shelf", *SHAPE]
    assert references.standing_for(Shelf()) is None
    assert references.resolve("shelf", "more") is shelf


def test_shape_holds_what_is_allowed(shelf):
    allowed = frozenset({"add", "__call__"})
    assert shape_of(shelf, allowed)[2:] == (SHAPE[2][:1], ("__len__", "__iter__", "__getitem__", "__call__"))


def test_documentation_is_cut(shelf, monkeypatch):
    monkeypatch.setattr(module, "_TEXT_LIMIT", 4)
    assert shape_of(shelf, None)[1:3] == ("A sh", (("add", "(sel"), ("fail", "(kin")))
    assert shape_of({}, None).methods[0][0] == "clear"


def test_method_without_a_signature_takes_anything():
    assert dict(shape_of({}, None).methods)["pop"].startswith("(...)\n\nD.pop(k[,d])")


@pytest.mark.parametrize("handle", ["gone", 5, None, ["shelf"]])
def test_handle_of_nothing_is_refused(references, handle):
    with pytest.raises(NotPortableError, match="refers to nothing that the host holds; inject it again"):
        references.resolve(handle)


def test_uses_do_what_python_does(references, shelf):
    assert use(references, "__len__") == 2
    assert list(use(references, "__iter__")) == ["a", "b"]
    assert use(references, "__getitem__", 1) == "b"
    assert use(references, "__setitem__", 1, "c") is None
    assert use(references, "__call__", 2, factor=3) == 6
    assert use(references, "__enter__") is shelf
    assert use(references, "add", "d", at_end=False) == 3
    assert use(references, "books") == ["a", "c", "d"]
    assert use(references, "size") == 3
    assert use(references, "size", 4) is None
    assert shelf.size == 4
    references.share("numbers", iter([5]), None)
    numbers = references.find("numbers.__next__")
    assert numbers is not None
    assert [numbers.call([], {}, None) for _ in range(2)] == [[5], []]
    assert references.find("gone.add") is None
    assert references.find("add") is None


@pytest.mark.parametrize(
    ("told", "raised"),
    [
        ((None, None), (None, "None")),
        (("ValueError", "wrong"), (ValueError, "ValueError('wrong')")),
        (("MadeError", "wrong"), (RuntimeError, "RuntimeError('MadeError: wrong')")),
        (("print", "wrong"), (RuntimeError, "RuntimeError('print: wrong')")),
        (("KeyboardInterrupt", ""), (RuntimeError, "RuntimeError('KeyboardInterrupt: ')")),
        (("UnicodeDecodeError", "wrong"), (RuntimeError, "RuntimeError('wrong')")),
    ],
)
def test_object_is_left_with_the_error_of_the_block(references, shelf, told, raised):
    assert use(references, "__exit__", *told) is True
    ((kind, error, traceback),) = shelf.left
    assert (kind, repr(error), traceback) == (*raised, None)


class MadeError(Exception):
    pass


@pytest.mark.parametrize(
    ("error", "name", "text"),
    [
        (ValueError("wrong"), "ValueError", "wrong"),
        (KeyError("missing"), "KeyError", "missing"),
        (KeyError(), "KeyError", ""),
        (KeyError(5), "KeyError", "5"),
        (MadeError("wrong"), "ToolRuntimeException", "MadeError: wrong"),
        (ValueError("x" * 20_000), "ValueError", "x" * 10_000),
        (KeyError("x" * 20_000), "KeyError", "x" * 10_000),
    ],
)
def test_errors_are_named_like_python_s(references, error, name, text):
    with pytest.raises(ToolError) as raised:
        use(references, "fail", lambda: error)
    assert (type(raised.value).__name__, str(raised.value), type(raised.value).__bases__) == (name, text, (ToolError,))
    assert raised.value.__cause__ is error


def test_tool_errors_stay_as_they_are(references):
    error = ToolRuntimeException("not now")
    with pytest.raises(ToolRuntimeException) as raised:
        use(references, "fail", lambda: error)
    assert raised.value is error


@pytest.mark.parametrize("name", ["_secret", "_hidden", "__class__", "gone", "__contains__"])
def test_what_is_private_or_missing_is_no_attribute(references, name):
    with pytest.raises(ToolError, match=f"'Shelf' object has no attribute '{name}'") as raised:
        use(references, name)
    assert type(raised.value).__name__ == "AttributeError"


def test_allowed_names_bound_attributes(shelf):
    references = References()
    references.share("shelf", shelf, frozenset({"size"}))
    assert use(references, "size") == 3
    for name in ("books", "add"):
        with pytest.raises(ToolError, match=f"no attribute '{name}'"):
            use(references, name)


def test_results_are_held_under_a_handle_of_their_generation(references, shelf):
    refer: Any = references.granting(None, {})
    other = Shelf()
    assert refer(shelf)[0] == "shelf"
    assert refer(5) is None
    assert refer(other)[0] == "Shelf#0.1"
    assert refer(other)[0] == "Shelf#0.1"
    for number in (3, 2):
        references.begin_generation(number)
    assert refer(Shelf())[0] == "Shelf#3.2"
    operation: Any = references.find("shelf.add")
    assert operation.refer({})(Shelf())[0] == "Shelf#3.3"


@pytest.mark.parametrize("value", [sys, Shelf, (lambda: 0).__code__, inspect.currentframe()])
def test_ways_out_of_an_object_are_never_held(value):
    with pytest.raises(NotPortableError, match=f"^a {type(value).__name__} does not travel, by value or by reference$"):
        References().share("found", value, None)


def test_host_holds_a_bounded_number(monkeypatch):
    monkeypatch.setattr(module, "_HELD_LIMIT", 1)
    references = References()
    references.share("a", Shelf(), None)
    with pytest.raises(NotPortableError, match=r"^blocks hold 1 objects of the host already; return data instead$"):
        references.share("b", Shelf(), None)


@pytest.mark.parametrize(
    "value", [lambda: 0, print, [].append, functools.partial(print), (_ for _ in ()), builtins.len]
)
def test_functions_have_operators_alone(value):
    references = References()
    standing = references.share("shelf", value, None)
    assert standing[3] == ()
    with pytest.raises(ToolError, match="has no attribute 'public'"):
        use(references, "public")


def test_calls_of_nothing_say_what_there_is():
    gone = refuse_unknown("shelf.books.add", [])
    assert isinstance(gone, ToolInvocationException)
    assert str(gone) == "shelf.books is not there any more; it was an object of a host that has ended"
    assert str(refuse_unknown("look", ["add", "see"])) == "unknown tool 'look'; there are add, see"


def test_prompt_tells_methods_and_properties(shelf):
    told = describe_live("shelf", shelf, "Here.", None)
    assert told[:3] == ("shelf", "variable", "Here.")
    assert told.text.splitlines() == [
        "shelf: Shelf, a live object outside of the interpreter",
        "    Here.",
        "    A shelf.",
        "",
        "    Of books.",
        "    def add(self, book: str, *, at_end: bool = True) -> int",
        "        Add a book.",
        "    def fail(kind: Any, *arguments: Any) -> None",
        "    height",
        "    width: Its width.",
    ]
    allowed = describe_live("shelf", shelf, "", frozenset({"height"})).text
    assert allowed.splitlines()[1:] == ["    A shelf.", "", "    Of books.", "    height"]
