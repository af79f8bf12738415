"""Answers about variables, without a sandbox."""

import fractions
import os
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from carryover.tasks.runtime.inside import answers as module
from carryover.tasks.runtime.inside.answers import Answers, reason_of
from carryover.tasks.runtime.inside.folder import FolderError
from carryover.tasks.runtime.inside.namespace import hash_state
from carryover.tasks.runtime.inside.values.tree import decode, encode


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


class Runner:
    """A namespace that notes what is done to it."""

    def __init__(self, **values: Any) -> None:
        self.namespace = values
        self.own: dict[str, Any] = {}
        self.notes: list[Any] = []
        self.line = SimpleNamespace(refer=lambda *said: said)
        self.folder: Any = SimpleNamespace()

    def user_values(self) -> dict[str, Any]:
        return self.namespace

    def forget(self, names: list[str] | None) -> None:
        for name in names or [*self.namespace]:
            self.namespace.pop(name, None)

    def inject(self, name: str, value: Any, *, is_own: bool) -> None:
        self.notes.append((name, value, is_own))

    def add_tools(self, tools: dict[str, str], *, takes_objects: bool) -> None:
        self.notes.append((tools, takes_objects))


def answering(*, builds_late: bool = False, **values: Any) -> tuple[Answers, Runner]:
    runner: Any = Runner(**values)
    return Answers(runner, builds_late=builds_late), runner


def sent(value: Any) -> tuple[int, int]:
    """Return the size and the descriptor of a value's blob."""
    encoded = encode(value)
    blob = bytearray(encoded.size)
    encoded.write(memoryview(blob))
    descriptor = os.memfd_create("blob")
    os.write(descriptor, blob)
    return len(blob), descriptor


def test_dropped_names_are_counted():
    answers, runner = answering(a=1, b=2, c=3)
    assert answers.drop(["a", "missing"]) == 1
    assert answers.drop(None) == 2
    assert runner.namespace == {}


def test_definitions_are_bound_as_the_interpreter_s_own():
    answers, runner = answering()
    runner.own = {"double": lambda number: 2 * number}
    source = "def area(side):\n    return double(side) + sqrt(4)"
    assert answers.define("area", source, [("sqrt", "math", "sqrt"), ("gone", "no_such_module", None)]) is None
    ((name, area, is_own),) = runner.notes
    assert (name, area(3), is_own) == ("area", 8.0, True)


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("class Own(Base): pass", "its source uses Base, which the sandbox lacks; inject that first"),
        ("raise NameError('made')", "NameError: made"),
        ("raise ValueError('x' * 2000)", f"ValueError: {'x' * 988}"),
        (f"{'n' * 2000}", f"its source uses {'n' * 984}"),
    ],
)
def test_definition_that_fails_is_named(source, problem):
    answers, runner = answering()
    assert answers.define("Own", source) == problem
    assert runner.notes == []


def test_values_are_bound_where_they_belong():
    answers, runner = answering()
    assert answers.bind("a", True, *sent({1})) is None
    assert answers.bind("b", False, *sent({2})) is None
    assert (runner.namespace, runner.notes) == ({"a": {1}}, [("b", {2}, False)])


def test_values_of_a_root_wait_for_its_fork():
    answers, runner = answering(builds_late=True)
    for name, value in (("a", 1), ("b", 2), ("a", 3), ("gone", 4), ("d", 5), ("r", 6)):
        assert answers.bind(name, False, *sent(value)) is None
    answers.tool("gone", "A tool.", takes_objects=False)
    answers.tool("other", "Another.")
    answers.define("d", "def d(): pass")
    answers.refer("r", "handle", "Kind", None)
    told = [({"gone": "A tool."}, False), ({"other": "Another."}, True)]
    assert runner.notes[:2] == told
    assert runner.notes[3] == ("r", ("handle", "Kind"), False)
    del runner.notes[:]
    answers.build()
    assert runner.notes == [("b", 2, False), ("a", 3, False)]
    answers.build()
    assert len(runner.notes) == 2
    assert answers.bind("e", False, *sent(7)) is None
    assert runner.notes[2] == ("e", 7, False)


def test_value_that_cannot_be_read_is_refused():
    answers, runner = answering()
    descriptor = os.memfd_create("blob")
    assert "malformed data" in str(answers.bind("a", False, 0, descriptor))
    assert runner.notes == []
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


def test_a_variable_is_offered_missing_or_refused():
    answers, _ = answering(a={1, 2}, b=print)
    size, _ = sent({1, 2})
    assert answers.fetch("a") == {"size": size, "libraries": ()}
    assert answers.fetch("missing") == {"missing": "missing"}
    refused = answers.fetch("b")
    assert refused == {"error": "a value of type builtin_function_or_method does not travel; inject it under a name"}
    assert answers._outgoing is None

    def fail() -> None:
        raise RuntimeError("x" * 2000)

    assert answers._offer(fail) == {"error": f"RuntimeError: {'x' * 986}"}

    def refuse() -> None:
        raise FolderError("y" * 2000)

    assert answers._offer(refuse) == {"error": "y" * 1000}


def test_a_value_is_written_into_what_the_host_sends():
    answers, _ = answering(a={1, 2})
    size = answers.fetch("a")["size"]
    kept = os.memfd_create("blob")
    os.truncate(kept, size)
    read_only = os.open(f"/proc/self/fd/{kept}", os.O_RDONLY)
    assert str(answers.fill(read_only)).startswith("no room for it in the interpreter (")
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(read_only)
    answers.fetch("a")
    assert answers.fill(os.dup(kept)) is None
    assert decode(memoryview(bytearray(os.pread(kept, size, 0))), {}) == {1, 2}
    os.close(kept)


def test_digests_are_of_the_first_variables(monkeypatch):
    values: dict[str, Any] = {f"n{number}": number for number in range(301)}
    answers, _ = answering(**values)
    first = {name: hash_state({name: values[name]}) for name in [*values][:300]}
    assert answers.digests() == first
    assert list(answers.fingerprints()) == list(first)
    for error in (RuntimeError, IndexError, TypeError, MemoryError):

        def fail(_values: Any, error: type[Exception] = error) -> str:
            raise error

        monkeypatch.setattr(module, "hash_state", fail)
        assert answers.digests() == {}


def test_fingerprints_are_of_content_or_type(monkeypatch):
    answers, _ = answering(a=1, b=1, c=True, d=print, e="x" * 2000, f=fractions.Fraction(1))
    found = answers.fingerprints()
    assert found["a"] == found["b"] == "int 13bc858457d1436a62703513f3e3039a"
    assert found["c"].startswith("bool ")
    assert found["d"] == "builtin_function_or_method"
    assert found["f"].startswith("fractions.Fraction ")
    monkeypatch.setattr(module, "_FINGERPRINT_LIMIT_BYTES", encode("x" * 2000).size)
    assert answers.fingerprints()["e"] == found["e"]
    monkeypatch.setattr(module, "_FINGERPRINT_LIMIT_BYTES", 1000)
    assert answers.fingerprints()["e"] == f"str of {encode('x' * 2000).size} bytes"


class Files:
    """A folder that notes what is done to it."""

    def __init__(self) -> None:
        self.notes: list[Any] = []

    def place(self, name: str, content: bytes) -> None:
        if name == "refused":
            raise FolderError("refused: no")
        self.notes.append((name, content))

    def unpack(self, packed: Any) -> None:
        self.notes.append(packed)

    def get(self, name: str) -> bytes:
        return name.encode()

    def pack(self) -> list[Any]:
        return [None, []]

    def forget(self) -> None:
        self.notes.append("forgotten")

    def sizes(self) -> dict[str, int]:
        return {"a": 1}

    def canary(self) -> str:
        return "folder's"


def test_files_go_to_the_folder_and_come_from_it():
    answers, runner = answering()
    runner.folder = files = Files()
    kept = os.memfd_create("file")
    os.write(kept, b"content and more")
    assert answers.place("a", 7, os.dup(kept)) is None
    assert answers.place("refused", 7, os.dup(kept)) == "refused: no"
    assert answers.unpack(*sent(["word", []])) is None
    assert "malformed data" in str(answers.unpack(3, kept))
    answers.clear()
    assert files.notes == [("a", b"content"), ["word", []], "forgotten"]
    assert answers.read("a")["size"] == sent(b"a")[0]
    assert answers.pack()["size"] == sent([None, []])[0]
    assert answers.files() == {"a": 1}
    runner.canary = lambda: "namespace's"  # pyright: ignore[reportAttributeAccessIssue]
    assert answers.canaries() == ["namespace's", "folder's"]


@pytest.mark.parametrize("error", [MemoryError("full"), OSError("full")])
def test_want_of_room_names_the_way_out(error):
    way_out = "delete what is not needed, or raise memory_limit_bytes"
    assert reason_of(error) == f"no room for it in the interpreter (full); {way_out}"
    assert reason_of(ValueError("x" * 2000)) == "x" * 1000
