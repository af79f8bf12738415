"""Names that are injected: bound before every block, replaced, recorded, without room."""

import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from carryover.tasks.runtime.objects import InjectionError
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.runtime.session import session


@dataclasses.dataclass
class Loud:
    """Prints wherever its body runs."""

    x: int = 1
    print("loud")


def double(number: int) -> int:
    """Return twice the number."""
    return 2 * number


def test_what_an_injection_prints_is_in_no_observation(interpreter):
    interpreter.inject("Loud", Loud)
    first = interpreter.run_block("print(Loud().x)").output
    second = interpreter.run_block("print(Loud().x)").output
    interpreter.inject("Loud", Loud)
    interpreter.inject("Loud", Loud)
    assert [first, second, interpreter.run_block("print(Loud().x)").output] == ["1\n"] * 3


def test_function_runs_on_the_host_or_in_the_sandbox(interpreter):
    calls = []
    interpreter.inject("note", calls.append)
    interpreter.inject("double", double, runs_in="sandbox")
    result = interpreter.run_block("note('seen'); double(21)")
    assert (calls, result.result, [call.tool for call in result.tool_calls]) == (["seen"], "42", ["note"])


def test_injected_functions_are_put_back_and_listed_nowhere(interpreter):
    interpreter.inject("double", double, runs_in="sandbox")
    result = interpreter.run_block("double = None")
    assert result.last_step_globals == ()
    assert interpreter.run_block("double(2)").result == "4"


@pytest.mark.parametrize("name", ["not a name", "class", "__canary__", ""])
def test_what_is_no_name_is_refused(interpreter, name):
    with pytest.raises(InjectionError, match="is not a valid name"):
        interpreter.inject(name, 1)


@pytest.mark.parametrize("runs_in", ["host", "sandbox"])
def test_what_is_injected_last_under_a_name_stays(interpreter, runs_in):
    interpreter.inject("double", double, runs_in=runs_in)
    assert interpreter.run_block("double(4)").result == "8"
    interpreter.inject("double", 5)
    assert [interpreter.run_block("double").result for _ in range(3)] == ["5", "5", "5"]
    interpreter.inject("double", double, runs_in=runs_in)
    assert [interpreter.run_block("double(4)").result for _ in range(2)] == ["8", "8"]


def test_injected_variable_changes_as_the_contract_says(interpreter, contract):
    interpreter.inject("basket", [1])
    interpreter.run_block("basket.append(2)")
    expected = "[1, 2]" if contract.name == "persistent" else "[1]"
    assert interpreter.run_block("basket").result == expected
    assert interpreter.verify_contract()


def test_events_of_the_state_are_recorded(open_one):
    interpreter = open_one("persistent")
    interpreter.inject("x", 1)
    interpreter.run_block("y = x")
    interpreter.retrieve("y")
    interpreter.drop_name("y")
    assert [(event.step, event.kind, event.name) for event in interpreter.events] == [
        (0, "inject", "x"),
        (1, "retrieve", "y"),
        (1, "drop", "y"),
    ]


def test_variables_are_listed_with_their_types(interpreter):
    interpreter.inject("given", np.zeros(2))
    made = "kind = type('Kind', (type,), {'__name__': 3, '__module__': None})\nown = kind('Own', (), {})()"
    interpreter.run_block(f"count = 1\n{made}")
    kept = {"count": "int", "kind": "type", "own": "Own"} if interpreter.contract.name == "persistent" else {}
    assert interpreter.variables() == {"given": "numpy.ndarray", **kept}


def test_binding_of_one_interpreter_is_installed_in_another(open_one):
    first, second = open_one(), open_one()
    first.inject("given", [1, 2], description="Two numbers.")
    second.install(first.bindings[0], first.injected[0])
    assert (second.retrieve("given"), second.injected) == ([1, 2], first.injected)


def test_several_variables_are_injected_in_the_time_of_one(interpreter):
    interpreter.inject_all({"frame": pd.DataFrame({"a": [1, 2]}), "left": 3})
    interpreter.inject_all({"left": 2})
    assert interpreter.run_block("print(frame['a'].sum(), left)").output == "3 2\n"
    assert [entry.name for entry in interpreter.injected] == ["frame", "left", "left"]
    assert [event.name for event in interpreter.events if event.kind == "inject"] == ["frame", "left", "left"]
    with pytest.raises(InjectionError, match="not a valid name"):
        interpreter.inject_all({"kept": 1, "no name": 1})
    assert interpreter.run_block("'kept' in globals()").result == "False"


def test_injecting_again_under_one_name_holds_one_value():
    """Forty arrays of 8 MiB pass through an interpreter and a host that have room for a few of them."""
    spec = RuntimeSpec(object_limit_bytes=16 << 20, memory_limit_bytes=256 << 20)
    with session("persistent", spec=spec) as interpreter:
        interpreter.inject("x", np.zeros(1 << 20))
        descriptors = len(list(Path("/proc/self/fd").iterdir()))
        for number in range(40):
            interpreter.inject("x", np.full(1 << 20, number))
            assert interpreter.run_block("int(x[0]), int(x[-1])").result == f"({number}, {number})"
        kept = [binding.content for binding in interpreter.bindings if binding.content is not None]
        assert (len(interpreter.bindings), len(kept)) == (41, 2)
        assert len(list(Path("/proc/self/fd").iterdir())) <= descriptors + len(kept)


def test_value_without_room_in_the_interpreter_names_the_limit():
    with session("persistent", spec=RuntimeSpec(memory_limit_bytes=256 << 20)) as interpreter:
        interpreter.run_block("y = 7")
        with pytest.raises(InjectionError, match=r"x: no room for it .* raise memory_limit_bytes"):
            interpreter.inject("x", np.ones(30 << 20))
        assert interpreter.run_block("y").result == "7"


def test_replay_tells_of_a_released_value(open_with, tmp_path):
    interpreter = open_with("persistent", object_limit_bytes=16 << 20)
    for number in range(4):
        interpreter.inject("x", np.full(1 << 20, number))
        interpreter.run_block(f"seen_{number} = int(x[0])")
    interpreter.save(tmp_path / "journal")
    assert {difference.step for difference in interpreter.reload(tmp_path / "journal")} == {1, 2, 3, 4}
    assert interpreter.run_block("seen_3, int(x[-1])").result == "(3, 3)"


def test_a_value_in_the_place_of_a_function_is_a_variable(open_one):
    interpreter = open_one("persistent")
    interpreter.inject("given", len)
    assert interpreter.variables() == {}
    interpreter.inject("given", 3)
    assert interpreter.variables() == {"given": "int"}
