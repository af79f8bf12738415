"""Tools run on the host, called from the block with ordinary Python semantics."""

import asyncio
import sys
import time

import polars
import pytest

from carryover.tasks.runtime.inside.tools import ToolRuntimeException


def add(first: int, second: int = 10) -> int:
    """Add two numbers."""
    return first + second


def echo(value):
    return value


def refuse() -> None:
    raise ToolRuntimeException("not now")


def crash() -> None:
    raise KeyError("missing")


def slow() -> str:
    time.sleep(2.5)  # longer than a test gives its block
    return "slow"


def stop() -> None:
    raise KeyboardInterrupt  # as Ctrl-C does, while the host is in the tool


TOOLS = {"add": add, "echo": echo, "refuse": refuse, "crash": crash, "slow": slow, "stop": stop}


@pytest.fixture
def interpreter(open_one, contract):
    return open_one(contract, TOOLS)


def test_arguments_go_by_position_and_by_name(interpreter):
    assert interpreter.run_block("add(1), add(1, 2), add(second=3, first=1), add(*[1], **{'second': 4})").result == (
        "(11, 3, 4, 5)"
    )


def test_calls_are_recorded_in_order_with_named_arguments(interpreter):
    calls = interpreter.run_block("add(1)\nadd(1, second=2)").tool_calls
    assert [(call.tool, call.arguments_json, call.result_json) for call in calls] == [
        ("add", '{"first": 1}', "11"),
        ("add", '{"first": 1, "second": 2}', "3"),
    ]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("add()", "missing a required argument: 'first'"),
        ("add(1, 2, 3)", "too many positional arguments"),
        ("add(1, third=2)", "got an unexpected keyword argument 'third'"),
        ("add('1')", "add: first must be int, got str '1'"),
        ("echo({1, 2})", "echo: arguments must be plain JSON values (set is not JSON serializable)"),
        ("echo([{'a': ({1: 'b'},)}])", "echo: arguments must be plain JSON values (keys must be str, not int)"),
    ],
)
def test_arguments_that_do_not_fit_are_told(interpreter, call, message):
    error = interpreter.run_block(call).error
    assert error.type == "ToolInvocationException"
    assert message in error.message


def test_errors_name_their_kind(interpreter):
    kinds = [interpreter.run_block(code).error for code in ("refuse()", "crash()", "1/0")]
    assert [(error.kind, error.type) for error in kinds] == [
        ("tool", "ToolRuntimeException"),
        ("tool", "ToolRuntimeException"),
        ("interpreter", "ZeroDivisionError"),
    ]
    assert kinds[0].message.endswith("\nToolRuntimeException: not now")
    assert kinds[1].message.endswith("ToolRuntimeException: KeyError: 'missing'")


def nested(depth: int) -> list:
    value = []
    for _ in range(depth):
        value = [value]
    return value


def spoil(given: list) -> int:
    given.append(object())
    return 1


def panic() -> None:
    raise polars.exceptions.PanicException("a library in Rust gave up")


def shout() -> None:
    raise ValueError("x" * 20_000_000)


NO_ANSWERS = {
    "root": (lambda number: number**0.5, "root(-1)", "root returned a value that is not JSON: "),
    "keys": (lambda: {(1, 2): 3}, "keys()", "keys returned a value that is not JSON: keys must be str, "),
    "numbers": (
        lambda: [{1: "a"}],
        "numbers()",
        "numbers returned a value that is not JSON: keys must be str, not int",
    ),
    "long": (lambda: 10**10_000, "long()", "long returned a value that is not JSON: Exceeds the limit "),
    "nested": (nested, "nested(5000)", "nested returned a value that is not JSON: maximum recursion depth "),
    "leave": (sys.exit, "leave(3)", "SystemExit: 3"),
    "drop": (lambda: (_ for _ in ()).throw(GeneratorExit("gone")), "drop()", "GeneratorExit: gone"),
    "panic": (panic, "panic()", "PanicException: "),
    "shout": (shout, "shout()", "ValueError: xxx"),
}
"""Functions of the host that fail in what they return, or in how they end."""


@pytest.mark.parametrize("name", NO_ANSWERS)
def test_tool_that_has_no_answer_fails_in_its_block_alone(open_one, contract, name):
    function, call, message = NO_ANSWERS[name]
    interpreter = open_one(contract, {name: function, "add": add})
    result = interpreter.run_block(call)
    assert (result.error.kind, result.error.type, result.state_event) == ("tool", "ToolRuntimeException", "kept")
    assert f"ToolRuntimeException: {message}" in result.error.message
    recorded = result.tool_calls[0]
    assert (recorded.result_json, recorded.error_type, recorded.is_caught) == (None, "ToolRuntimeException", False)
    assert recorded.error_message.startswith(message)
    assert interpreter.run_block("add(1)").result == "11"


@pytest.mark.parametrize("raised", [asyncio.CancelledError, GeneratorExit, SystemExit, BaseException])
def test_base_exception_of_a_tool_ends_that_call_alone(open_one, contract, raised):
    def refuse() -> None:
        raise raised("told")

    interpreter = open_one(contract, {"refuse": refuse})
    result = interpreter.run_block("try: refuse()\nexcept Exception as error: print(error)\nx = 1")
    assert (result.output, result.error, result.state_event) == (f"{raised.__name__}: told\n", None, "kept")


class Terminated(BaseException):
    """What Prefect's handler of a signal raises; the runtime knows it by its module."""

    __module__ = "prefect.exceptions"


def test_request_to_end_the_host_goes_on_through_the_tool(open_one, contract):
    def wait() -> None:
        raise Terminated

    with pytest.raises(Terminated):
        open_one(contract, {"wait": wait}).run_block("try: wait()\nexcept BaseException: pass")


def test_arguments_are_recorded_as_the_tool_got_them(open_one, contract):
    result = open_one(contract, {"spoil": spoil}).run_block("spoil([2])")
    assert (result.result, result.tool_calls[0].arguments_json) == ("1", '{"given": [2]}')


def test_caught_error_is_recorded_as_caught(interpreter):
    result = interpreter.run_block("try:\n    refuse()\nexcept Exception as error:\n    text = str(error)\ntext")
    assert (result.result, result.error) == ("'not now'", None)
    assert [(call.error_type, call.is_caught) for call in result.tool_calls] == [("ToolRuntimeException", True)]


def test_error_that_ends_the_block_is_recorded_as_uncaught(interpreter):
    calls = interpreter.run_block("try:\n    refuse()\nexcept Exception:\n    pass\nrefuse()").tool_calls
    assert [call.is_caught for call in calls] == [True, False]


def test_calls_past_the_cap_raise_an_ordinary_exception_every_time(open_one, contract):
    interpreter = open_one(contract, TOOLS, tool_call_cap=2)
    code = """
seen = []
for n in range(5):
    try: seen.append(add(n))
    except Exception as error: seen.append(type(error).__name__)
seen
"""
    result = interpreter.run_block(code)
    assert result.result == "[10, 11, 'ToolCallLimitError', 'ToolCallLimitError', 'ToolCallLimitError']"
    error = interpreter.run_block("print('kept')\nfor n in range(3): add(n)").error
    assert (error.kind, error.type) == ("cap", "ToolCallLimitError")
    assert "Tool call limit exceeded" in error.message


def test_cap_counts_anew_in_each_block(open_one, contract):
    interpreter = open_one(contract, TOOLS, tool_call_cap=2)
    assert [interpreter.run_block("add(1); add(2)").error for _ in range(3)] == [None] * 3


def test_block_without_a_cap_calls_without_limit(open_one, contract):
    result = open_one(contract, TOOLS, tool_call_cap=None).run_block("sum(add(n) for n in range(100))")
    assert (result.result, len(result.tool_calls)) == ("5950", 100)


def test_interrupt_in_a_call_waits_for_the_reply(open_one, contract, limited):
    interpreter = open_one(contract, TOOLS)
    with limited(interpreter):
        result = interpreter.run_block("try:\n    slow()\nexcept Exception:\n    print('never')")
    assert (result.error.type, result.output) == ("StepTimeout", "")
    assert interpreter.run_block("add(1), echo('own')").result == "(11, 'own')"


IN_THE_BLOCK = "kept = add(1)\ntry:\n    stop()\nexcept Exception:\n    print('never')"
IN_A_THREAD = """
import threading, time
kept, ready = add(1), False
def call():
    while not ready: time.sleep(0.01)
    stop()
threading.Thread(target=call).start()
while True: ready = True
"""


@pytest.mark.parametrize("code", [IN_THE_BLOCK, IN_A_THREAD])
def test_call_stopped_by_hand_interrupts_its_block_and_is_answered(interpreter, limited, code):
    with limited(interpreter, seconds=60):
        result = interpreter.run_block(code)
    assert (result.error.type, result.state_event) == ("StepTimeout", "kept")
    assert result.error.message.endswith("StepTimeout: the block was stopped by hand and was interrupted")
    assert "never" not in result.output
    stopped = result.tool_calls[1]
    assert (stopped.error_type, stopped.error_message) == ("StepTimeout", "stop was stopped by hand")
    assert not stopped.is_caught
    is_kept = interpreter.contract.name == "persistent"
    assert interpreter.run_block("add(2), 'kept' in globals()").result == str((12, is_kept))


def test_replay_stops_a_block_where_it_was_stopped_by_hand(open_one, contract, limited, tmp_path):
    first, second = open_one(contract, TOOLS), open_one(contract, TOOLS)
    with limited(first, seconds=60):
        first.run_block(IN_THE_BLOCK)
        first.run_block("add(2)")
    first.save(tmp_path / "episode.json")
    with limited(second, seconds=60):
        assert second.reload(tmp_path / "episode.json") == ()


def test_threads_may_call_at_once(interpreter):
    code = """
import threading
got = {}
def work(n): got[n] = [echo(n * 100 + k) for k in range(5)]
threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
for t in threads: t.start()
for t in threads: t.join()
all(got[n] == [n * 100 + k for k in range(5)] for n in range(4))
"""
    result = interpreter.run_block(code)
    assert (result.error, result.result) == (None, "True")
    assert len(result.tool_calls) == 20


def test_thread_that_outlives_its_block_cannot_call(open_one):
    interpreter = open_one("persistent", TOOLS)
    interpreter.run_block(
        "import threading, time\ngot = []\ndef late():\n"
        "    while '__canary__' not in globals(): time.sleep(0.01)\n"  # the runtime's mark that the block has ended
        "    try: got.append(add(1))\n    except Exception as error: got.append(str(error))\n"
        "thread = threading.Thread(target=late); thread.start()"
    )
    deadline = time.monotonic() + 60
    while not interpreter.retrieve("got") and time.monotonic() < deadline:
        time.sleep(0.05)
    result = interpreter.run_block("got")
    assert result.result == "['add can be called only by a running block, from its own process']"
    assert result.tool_calls == ()


def test_forked_child_cannot_call(interpreter):
    code = """
import os
if (pid := os.fork()) == 0:
    try: add(1)
    except Exception as error: print(type(error).__name__)
    os._exit(0)
os.waitpid(pid, 0)
add(2)
"""
    result = interpreter.run_block(code)
    assert (result.output, result.result) == ("ToolRuntimeException\n", "12")


def test_tools_have_the_hosts_signature_and_text_as_documentation(interpreter):
    assert (
        interpreter.run_block("print(add.__doc__)").output
        == "add(first: int, second: int = 10) -> int\n\nAdd two numbers.\n"
    )


def test_state_of_the_tool_world_is_the_hosts(open_one, contract):
    taken = []
    interpreter = open_one(contract, {"take": taken.append})
    interpreter.run_block("take('a')")
    interpreter.run_block("take('b')\nimport os; os._exit(0)")
    assert taken == ["a", "b"]


def test_calls_of_a_killed_step_are_recorded(interpreter):
    result = interpreter.run_block("add(1)\nimport os; os._exit(0)")
    assert [call.tool for call in result.tool_calls] == ["add"]
