"""Messages that bind objects in a sandbox, and blobs that come back, without a sandbox."""

import errno
import functools
import json
import math
import os
import textwrap
import typing
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import pytest

from carryover.tasks.runtime import definitions, objects
from carryover.tasks.runtime import transfer as module
from carryover.tasks.runtime.imports import imports_of, library_import, missing_names
from carryover.tasks.runtime.inside.values.transfer import SMALL_BYTES
from carryover.tasks.runtime.inside.values.tree import decode, encode
from carryover.tasks.runtime.objects import (
    Binding,
    InjectionError,
    RetrievalError,
    SharedMemory,
    UnknownClassError,
    bind_definition,
    bind_file,
    bind_function,
    bind_value,
    check_name,
    read_value,
    sealed,
    write_value,
)
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.runtime.transfer import Fetched, check, fetch, send_binding
from tests.tasks.runtime import deferred_annotations as deferred

LIMIT = 1 << 20
COUNT = 3
TABLE = {"a": [1, (2.5, None)], "b": {b"x"}}
LARGE = "x" * 10_001
ITEM = TypeVar("ITEM")
BOUND = TypeVar("BOUND", bound=int)
EITHER = TypeVar("EITHER", int, str)
LEVEL = True


class Base:
    pass


class Other:
    pass


def decorate(kind: Any) -> Any:
    return kind


@decorate
@dataclass
class Row(Base):
    count: int = COUNT
    table: dict = field(default_factory=lambda: TABLE)
    other: "Other | None" = None

    def total(self) -> int:
        return math.comb(self.count, LEVEL)


class Outer:
    class Inner:
        pass


def area(side: "Base | Any", power: int = COUNT) -> float:
    """Return it."""
    scaled = np.float64(str(side)) ** power
    return math.sqrt(scaled) + len(textwrap.dedent("x")) + LEVEL + helper(typing)  # noqa: F821 # type: ignore


def plain(number: int) -> int:
    return number + 1


@pytest.mark.parametrize("name", ["a", "_b", "é"])
def test_identifiers_are_names(name):
    check_name(name)


@pytest.mark.parametrize("name", ["", "a b", "class", "__a", "1a", "x" * 300 + "!"])
def test_other_words_are_no_names(name):
    way_out = "is not a valid name; use an identifier without leading double underscores"
    with pytest.raises(InjectionError) as raised:
        check_name(name)
    assert str(raised.value) == f"{name!r:.100} {way_out}"


@pytest.mark.parametrize("is_user", [True, False])
@pytest.mark.parametrize("length", [10, SMALL_BYTES])
def test_value_is_bound_with_its_blob(is_user, length):
    value = {b"x" * length}
    size = encode(value).size
    binding = bind_value("a", value, is_user=is_user, limit_bytes=size)
    assert (binding.message, binding.name) == (("bind", "a", is_user, size), "a")
    assert isinstance(binding.content, SharedMemory if size > SMALL_BYTES else bytearray)
    memory = binding.memory()
    assert memory is not None
    assert decode(memory.view(), {}) == value
    with pytest.raises(OSError, match=r"Operation not permitted"):
        os.pwrite(memory.descriptor, b"x", 0)
    with pytest.raises(InjectionError, match=rf"^a: {size} bytes exceed the limit of {size - 1}; raise object_limit"):
        bind_value("a", value, is_user=is_user, limit_bytes=size - 1)


def test_value_without_room_names_the_way_out(monkeypatch):
    def refuse(_size: int) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(objects, "SharedMemory", refuse)
    size = encode({1}).size
    reason = f"a: no {size} bytes of shared memory are available .Too many open files.; free memory, or close files"
    with pytest.raises(InjectionError, match=reason):
        write_value("a", {1}, {}, LIMIT, lambda value: None)


def test_written_value_tells_its_libraries_and_references():
    stays = Base()
    memory, libraries = write_value("a", [np.zeros(1), stays], {}, LIMIT, lambda one: ["b"] if one is stays else None)
    assert libraries == ("numpy",)
    array, reference = read_value("a", memory.view(), {}, libraries, lambda *said: said)
    assert (array.tolist(), reference) == ([0.0], ("b",))


def test_value_of_an_unknown_class_names_it():
    with pytest.raises(UnknownClassError, match=r"^a: an instance of Row needs its type first") as raised:
        bind_value("a", Row(), is_user=True, limit_bytes=LIMIT)
    assert raised.value.kind is Row
    assert bind_value("a", Row(), is_user=True, limit_bytes=LIMIT, types={"Row": Row}).name == "a"
    with pytest.raises(InjectionError, match=r"^a: a value of type builtin_function_or_method does not travel"):
        bind_value("a", print, is_user=True, limit_bytes=LIMIT)


def test_value_that_cannot_be_read_names_its_variable():
    with pytest.raises(RetrievalError, match=r"^a: malformed data"):
        read_value("a", memoryview(b""), {}, ())

    def fail(*_: Any) -> None:
        raise MemoryError

    blob = b'[[0],[["class.reference",["b"]]]]'
    whole = memoryview((len(blob).to_bytes(8, "little") + blob).ljust(64, b"\0"))
    with pytest.raises(RetrievalError, match=r"^a: this process has no memory for it; retrieve a smaller part$"):
        read_value("a", whole, {}, (), fail)


def test_file_is_bound_up_to_a_size():
    binding = bind_file("a/b", b"content", 7)
    memory = binding.memory()
    assert (binding.message, memory is binding.content) == (("place", "a/b", 7), True)
    assert memory is not None
    assert bytes(memory.view()[:7]) == b"content"
    with pytest.raises(InjectionError, match=r"^a/b: 7 bytes exceed the limit of 6; raise scratch_limit_bytes$"):
        bind_file("a/b", b"content", 6)
    assert sealed(b"").size == 1


def test_function_brings_its_source_and_imports():
    source = "def plain(number: int) -> int:\n    return number + 1\n"
    assert bind_function("plain", plain, ()).message == ("define", "plain", source, [])
    for function, name, place in ((math.sqrt, "sqrt", "math"), (np.exp, "exp", "numpy"), (json.loads, "loads", "json")):
        message = bind_function("f", function, ()).message
        assert message == ("define", "f", f"f = {name}", [(name, place, name)])


def made_elsewhere():
    """Return a function of no file."""
    names: dict[str, Any] = {}
    exec(compile("def made(): ...", "<nowhere>", "exec"), names)
    return names["made"]


@pytest.mark.parametrize(
    ("name", "function", "message"),
    [
        ("f", functools.partial(plain), "f: a partial has no source of its own; define a function, or pass runs_in"),
        ("f", plain, "f: its source defines 'plain'; inject it under that name"),
        ("area", area, "area: its source uses LEVEL, which the sandbox lacks; inject that first, or pass runs_in"),
        ("made", made_elsewhere(), 'made: source unavailable .*; define it in a file, or pass runs_in="host"'),
        ("made", lambda: 0, 'made: a lambda has no name to define; write `def made`, or pass runs_in="host"'),
    ],
)
def test_function_that_cannot_run_there_is_refused(name, function, message):
    with pytest.raises(InjectionError, match=f"^{message}"):
        bind_function(name, function, {"COUNT"})


def test_names_that_a_function_needs_are_found():
    source = textwrap.dedent(definitions.definition_text(area))
    assert imports_of(area, source) == [
        ("math", "math", None), ("np", "numpy", None), ("textwrap", "textwrap", None), ("typing", "typing", None),
    ]  # fmt: skip
    assert missing_names(area, source, ()) == ["COUNT", "LEVEL"]
    assert missing_names(area, source, {"LEVEL", "COUNT"}) == []
    assert missing_names(functools.partial(plain), "", ()) == []
    outer = 5

    def inner() -> int:
        return outer + plain(inner())

    assert missing_names(inner, textwrap.dedent(definitions.definition_text(inner)), ()) == ["outer", "plain"]


@pytest.mark.parametrize("value", [plain, Base, 5, functools.partial(plain), lambda: 0, dict.fromkeys])
def test_what_no_library_holds_is_not_imported(value):
    assert library_import(value) is None


def test_class_brings_what_its_statement_runs():
    definition = bind_definition("Row", Row)
    kind, name, source, imports = definition.binding.message
    assert (kind, name) == ("define", "Row")
    assert source.startswith("COUNT = 3\n@decorate\n@dataclass\nclass Row(Base):\n")
    assert imports == [
        ("dataclass", "dataclasses", "dataclass"),
        ("field", "dataclasses", "field"),
        ("math", "math", None),
    ]
    assert (definition.needs.first, definition.needs.later) == ((Base, decorate), (Other,))


def test_annotations_that_are_text_name_what_may_come_later():
    needs = definitions.needs_of(deferred.Basket)
    assert needs == ((deferred.default,), (deferred.Item, deferred.Part), "LIMIT = 3\n")
    assert definitions.needs_of(deferred.Basket.total).first == ()
    assert definitions.needs_of(area).first == ()
    assert definitions.needs_of(hinted).first == (Base, Other)


def hinted(one: Base) -> Other:
    return Other() if one else Row()  # pyright: ignore[reportReturnType]


def test_function_and_class_in_a_function_have_a_source():
    class Local:
        pass

    def inner() -> int:
        return 1

    assert definitions.definition_text(Local) == "class Local:\n    pass\n"
    assert definitions.definition_text(inner) == "def inner() -> int:\n    return 1\n"
    assert definitions.definition_text(Row.total).startswith("def total(self) -> int:\n")
    assert definitions.scope_of(type("Made", (), {"__module__": "nowhere"})) == {}
    assert definitions.scope_of(Row)["Row"] is definitions.scope_of(area)["Row"] is Row


def test_class_within_a_class_is_the_other_s():
    assert definitions.definition_text(Outer.Inner) == "Inner = Outer.Inner\n"
    with pytest.raises(InjectionError, match=r"an instance of Box.int. does not travel; give the class a name"):
        bind_definition("Box", type("Box[int]", (), {}))
    made = type("Made", (), {"__module__": "nowhere"})
    with pytest.raises(InjectionError, match=r"^Made: source unavailable \(.*\); define it in a file$"):
        bind_definition("Made", made)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (TABLE, repr(TABLE)),
        (True, "True"),
        (None, "None"),
        ("x" * 9_998, repr("x" * 9_998)),
        (LARGE, None),
        (10**5000, None),
        ([1, [Base()]], None),
        ({Base: 1}, None),
        ({1: Base()}, None),
        (np.float64(1), None),
        (type("Names", (list,), {})(), None),
        (float("nan"), None),
        (ITEM, "typing.TypeVar('ITEM')"),
        (BOUND, None),
        (EITHER, None),
    ],
    ids=lambda value: str(type(value)),
)
def test_constant_comes_along_as_its_source(value, text):
    assert definitions._as_source(value) == text


class Asked:
    """Notes messages and answers them in turn."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.notes: list[Any] = []

    def __call__(self, message: Any, descriptors: tuple[int, ...]) -> Any:
        self.notes.append((message, len(descriptors)))
        return self.answers.pop(0)


def test_binding_is_sent_with_its_memory():
    ask = Asked(None, None, "no room for it")
    send_binding(ask, Binding(("bind", "a", True, 1), bytearray(b"x")))
    send_binding(ask, Binding(("tool", "b", "")))
    send_binding(ask, Binding(("bind", "c", True, 1)))
    send_binding(ask, Binding(("place", "c", 1)))
    with pytest.raises(InjectionError, match=r"^d: no room for it$"):
        send_binding(ask, Binding(("define", "d", "", [])))
    assert [(message[1], count) for message, count in ask.notes] == [("a", 1), ("b", 0), ("d", 0)]


MEASURED = {"size": 9, "libraries": ["numpy"]}


def test_blob_is_fetched_into_sealed_memory():
    ask = Asked(MEASURED, None, MEASURED, None)
    found = fetch(ask, "a", 9)
    assert (found.memory.size, found.libraries) == (9, ("numpy",))
    with pytest.raises(OSError, match=r"Operation not permitted"):
        os.pwrite(found.memory.descriptor, b"x", 0)
    fetch(ask, "a", 9, ("shown",))
    assert ask.notes == [(("fetch", "a"), 0), (("fill",), 1), (("shown",), 0), (("fill",), 1)]


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([{"missing": "a"}], "no variable 'a' is alive"),
        ([{"error": "wrong"}], "a: wrong"),
        ([{"size": 10, "libraries": []}], "a: 10 bytes exceed the limit of 9; raise object_limit_bytes"),
        ([{"size": 0, "libraries": []}], "a: malformed answer"),
        ([{"size": 1, "libraries": ["os"]}], "a: malformed answer"),
        ([{"size": "1", "libraries": []}], "a: malformed answer"),
        ([None], "a: malformed answer"),
        ([MEASURED, "x" * 2000], f"a: {'x' * 1000}"),
    ],
)
def test_answer_that_brings_no_blob_is_told(answers, message):
    with pytest.raises(RetrievalError) as raised:
        fetch(Asked(*answers), "a", 9)
    assert str(raised.value) == message


def test_blob_without_room_or_a_seal_is_refused(monkeypatch):
    class Mapped(SharedMemory):
        def seal(self) -> None:
            raise OSError(errno.EBUSY, "busy")

    monkeypatch.setattr(module, "SharedMemory", Mapped)
    with pytest.raises(RetrievalError, match=r"^a: a process of the sandbox keeps its memory mapped for writing$"):
        fetch(Asked(MEASURED, None), "a", 9)

    def refuse(_size: int) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(module, "SharedMemory", refuse)
    with pytest.raises(RetrievalError, match=r"^a: no 9 bytes of shared memory are available .Too many open files.;"):
        fetch(Asked(MEASURED, None), "a", 9)


def blob_of(value: Any) -> Fetched:
    encoded = encode(value)
    content = bytearray(encoded.size)
    encoded.write(memoryview(content))
    return Fetched(sealed(content), encoded.libraries)


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (b"\x04\0\0\0null", None),
        (b'\x07\0\0\0"wrong"', "a: wrong"),
        (b"", "a: decoding it ended the process that tried it (EOFError)"),
        (b"\x01\0\0\0x", "a: decoding it ended the process that tried it (FrameError)"),
    ],
)
def test_blob_that_may_do_harm_is_tried_elsewhere(monkeypatch, answer, problem):
    asked: list[Any] = []

    def ask(_spec: RuntimeSpec, message: Any, descriptors: tuple[int, ...]) -> None:
        asked.append(message)
        assert os.path.samestat(os.fstat(descriptors[0]), os.fstat(array.memory.descriptor))
        os.write(descriptors[1], answer)

    monkeypatch.setattr(module, "_ask_reader", ask)
    spec = RuntimeSpec(object_limit_bytes=5000)
    check("a", blob_of({1}), spec)
    assert asked == []
    array = blob_of(np.zeros(1))
    if problem is None:
        check("a", array, spec)
    else:
        with pytest.raises(RetrievalError) as raised:
            check("a", array, spec)
        assert str(raised.value) == problem
    assert asked == [(array.memory.size, ("numpy",), 5000)]


def test_large_blob_is_tried_elsewhere(monkeypatch):
    monkeypatch.setattr(module, "_ask_reader", lambda _spec, _message, descriptors: os.write(descriptors[1], b"x"))
    monkeypatch.setattr(module, "SMALL_BYTES", 100)
    with pytest.raises(RetrievalError, match="decoding it ended"):
        check("a", blob_of("x" * 200), RuntimeSpec())
