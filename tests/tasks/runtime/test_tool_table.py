"""A block's calls as the host answers, caps and records them, without a sandbox."""

import decimal
from typing import Any

import numpy as np
import pytest

from carryover.tasks.runtime import tools as module
from carryover.tasks.runtime.engine import CallInterruptedError
from carryover.tasks.runtime.gate import ObjectGate
from carryover.tasks.runtime.inside.tools import ToolInvocationException, ToolRuntimeException
from carryover.tasks.runtime.inside.values.tree import decode, encode
from carryover.tasks.runtime.objects import sealed
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.runtime.tools import HostTool, ToolTable
from carryover.tasks.runtime.transfer import Fetched


def add(first: int, second: int = 10) -> int:
    """Add two numbers."""
    return first + second


def refuse(reason: str = "not now") -> None:
    raise ToolRuntimeException(reason)


def stop() -> None:
    raise KeyboardInterrupt


def take(*everything: Any, **named: Any) -> Any:
    return [list(everything), named]


def table(cap: int | None = None, **fields: Any) -> ToolTable:
    tools = {"add": add, "refuse": refuse, "stop": stop, "take": take}
    return ToolTable(tools, cap, ObjectGate(RuntimeSpec(**fields)))


def blob(value: Any) -> Fetched:
    encoded = encode(value)
    content = bytearray(encoded.size)
    encoded.write(memoryview(content))
    return Fetched(sealed(content), encoded.libraries)


def recorded(calls: ToolTable, uncaught: int | None = None) -> list[tuple[Any, ...]]:
    """Return the calls of a block without their seconds, which are none below zero."""
    found = calls.finish_block(uncaught)
    assert all(call.seconds >= 0 for call in found)
    return [call[:-1] for call in found]


def test_call_is_answered_and_recorded():
    calls = table()
    assert calls.answer("add", [1], {}) == ("value", 11)
    assert calls.answer("add", [1], {"second": 2}) == ("value", 3)
    assert calls.answer("take", [1], {"a": 2}) == ("value", [[1], {"a": 2}])
    assert recorded(calls) == [
        ("add", '{"first": 1}', "11", None, None, False),
        ("add", '{"first": 1, "second": 2}', "3", None, None, False),
        ("take", '{"everything": [1], "named": {"a": 2}}', '[[1], {"a": 2}]', None, None, False),
    ]
    assert [(reply.request, reply.kept) for reply in calls.replies()] == [
        ('["add", [1], {}]', ("value", "11")),
        ('["add", [1], {"second": 2}]', ("value", "3")),
        ('["take", [1], {"a": 2}]', ("value", '[[1], {"a": 2}]')),
    ]
    calls.start_block()
    assert (calls.finish_block(None), calls.replies()) == ((), ())


def test_failed_calls_are_numbered_and_told_as_caught_or_not():
    calls = table()
    failed = ("error", "ToolRuntimeException", "not now")
    assert calls.answer("refuse", [], {}) == (*failed, 1)
    assert calls.answer("add", [1], {}) == ("value", 11)
    assert calls.answer("refuse", ["\ud800"], {}) == ("error", "ToolRuntimeException", "?", 3)
    assert recorded(calls, 3) == [
        ("refuse", "{}", None, *failed[1:], True),
        ("add", '{"first": 1}', "11", None, None, False),
        ("refuse", '{"reason": "\\ud800"}', None, "ToolRuntimeException", "?", False),
    ]
    assert calls.replies()[0].kept == (*failed, 1)
    assert [calls.error_kind(number) for number in (None, 0, 1, 2, 3, 4)] == [
        "interpreter", "interpreter", "tool", "interpreter", "tool", "interpreter",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "arguments", "keywords", "message", "told"),
    [
        ("add", [], {}, "add(first: int, second: int = 10) -> int: missing a required argument: 'first'", "{}"),
        ("add", [1, 2, 3], {}, "add(first: int, second: int = 10) -> int: too many positional arguments", None),
        ("add", ["1"], {}, "add: first must be int, got str '1'", '{"first": "1"}'),
        ("gone", [1], {}, "unknown tool 'gone'; there are add, refuse, stop, take", None),
        ("x.y", [], {}, "x is not there any more; it was an object of a host that has ended", None),
    ],
)
def test_call_that_does_not_fit_is_told(name, arguments, keywords, message, told):
    calls = table()
    frame = ("error", "ToolInvocationException", message, 1)
    assert calls.answer(name, arguments, keywords) == frame
    whole = told or f'{{"args": {arguments}, "kwargs": {keywords}}}'
    assert recorded(calls) == [(name, whole, None, *frame[1:3], True)]


@pytest.mark.parametrize(
    ("value", "is_accepted"),
    [(1, True), (np.int64(1), True), (True, True), (1.0, False), ("1", False), (None, False)],
)
def test_integer_is_what_counts_as_one(value, is_accepted):
    tool = HostTool("look", lambda number: number)
    tool._types = {"number": int}
    if is_accepted:
        assert tool.call([value], {}, None) == value
        return
    with pytest.raises(ToolInvocationException, match="look: number must be int, got "):
        tool.call([value], {}, None)


def test_types_are_checked_where_annotations_are_plain():
    def look(one: float, two: list, three: "Missing", *four: str) -> None:  # noqa: F821 # type: ignore
        pass

    def see(one: float, two: list, three: decimal.Decimal, four) -> str:
        return "seen"

    assert HostTool("look", look)._types == {}
    seen = HostTool("see", see)
    assert seen.call([np.float32(1), (1,), 5, 6], {}, None) == "seen"
    with pytest.raises(ToolInvocationException, match=r"see: two must be list, got dict \{\}"):
        seen.call([1, {}, 5, 6], {}, None)
    with pytest.raises(ToolInvocationException) as raised:
        seen.call(["x" * 300, [], 5, 6], {}, None)
    assert str(raised.value) == f"see: one must be float, got {('str ' + repr('x' * 300))[:200]}"


def test_plain_signature_is_bound_like_any_other():
    plain, other = HostTool("add", add), HostTool("take", take)
    assert plain.bind([1], {}) == {"first": 1}
    assert plain.bind([1, 2], {}) == {"first": 1, "second": 2}
    assert plain.bind([], {"second": 2}) == {"second": 2}
    assert plain.bind([1, 2, 3], {}) is None
    assert plain.bind([1], {"third": 2}) is None
    assert other.bind([1], {"a": 2}) == {"everything": (1,), "named": {"a": 2}}
    assert other.call([], {}, None) == [[], {}]
    assert plain.documentation == "add(first: int, second: int = 10) -> int\n\nAdd two numbers."
    assert HostTool("take", take).documentation == "take(*everything: Any, **named: Any) -> Any"


def test_errors_of_a_tool_are_named():
    def fail() -> None:
        raise KeyError("missing")

    def shout() -> None:
        raise ValueError("x" * (5 << 20))

    with pytest.raises(ToolRuntimeException, match=r"^KeyError: 'missing'$"):
        HostTool("fail", fail).call([], {}, None)
    with pytest.raises(ToolRuntimeException) as raised:
        HostTool("shout", shout).call([], {}, None)
    assert len(str(raised.value)) == 4 << 20


def test_request_to_end_the_run_goes_through():
    ending = type("Ending", (BaseException,), {"__module__": "prefect.exceptions"})
    failing = type("FailedRun", (Exception,), {"__module__": "prefect.exceptions"})

    def fail(kind: type[BaseException]) -> None:
        raise kind("now")

    tool = HostTool("fail", fail)
    with pytest.raises(ending):
        tool.call([ending], {}, None)
    for kind in (failing, SystemExit, GeneratorExit):
        with pytest.raises(ToolRuntimeException, match=f"^{kind.__name__}: now$"):
            tool.call([kind], {}, None)


def test_stop_by_hand_is_raised_once_it_is_recorded():
    calls = table()
    with pytest.raises(CallInterruptedError) as raised:
        calls.answer("stop", [], {})
    frame = ("error", "StepTimeout", "stop was stopped by hand", 1)
    assert raised.value.frame == frame
    assert recorded(calls, 1) == [("stop", "{}", None, *frame[1:3], False)]
    assert recorded(calls) == [("stop", "{}", None, *frame[1:3], False)]


def test_calls_past_the_cap_are_refused_and_few_of_them_kept(monkeypatch):
    monkeypatch.setattr(module, "_REFUSALS_KEPT", 2)
    calls = table(cap=1)
    message = "Tool call limit exceeded: 1 calls are allowed per code block"
    frames = [calls.answer("add", [number], {}) for number in range(4)]
    refused = ("error", "ToolCallLimitError", message)
    assert frames == [("value", 10), (*refused, 2), (*refused, 3), (*refused, 3)]
    assert recorded(calls, 2)[1:] == [
        ("add", '{"first": 1}', None, *refused[1:], False),
        ("add", '{"first": 2}', None, *refused[1:], True),
    ]
    assert (calls.error_kind(1), calls.error_kind(2)) == ("interpreter", "cap")
    other = calls.copy()
    assert other.answer("add", [1], {}) == ("value", 11)
    assert (other.cap, other.tools, other.gate.references is calls.gate.references) == (1, calls.tools, True)
    other.add("look", lambda: 1)
    assert "look" not in calls.tools


def test_calls_that_take_much_are_refused_without_what_they_brought(monkeypatch):
    monkeypatch.setattr(module, "_BLOCK_LIMIT_BYTES", 1000)
    calls = table()
    name = "n" * 300
    message = "Tool call limit exceeded: the calls of a code block and their replies may take 1000 bytes"
    assert calls.answer("add", [1], {}) == ("value", 11)
    assert calls.answer(name, ["x" * 600], {"a": 1}) == ("error", "ToolCallLimitError", message, 2)
    assert calls.replies()[1].request == f'["{name[:100]}", [], {{}}]'
    assert recorded(calls)[1][:2] == (name[:100], '{"args": [], "kwargs": {}}')


@pytest.mark.parametrize(("size", "is_answered"), [(575, True), (576, False)])
def test_every_request_and_reply_counts(monkeypatch, size, is_answered):
    monkeypatch.setattr(module, "_BLOCK_LIMIT_BYTES", 1000)
    calls = table()
    calls.answer("refuse", [], {})  # 200 and 18 of the request, and 7 of the message
    request = len('["take", [""], {}]')
    frame = calls.answer("take", ["x" * (size - 18)], {})
    assert request == 18
    assert (frame[0] == "value") is is_answered


def test_objects_of_calls_are_limited_together():
    large = blob(((["x" * 400],), {}))
    calls = table(object_limit_bytes=large.memory.size)
    assert calls.answer("take", [], {}, large)[0] == "value"
    message = f"Tool call limit exceeded: the objects of a code block's calls may take {large.memory.size} bytes"
    assert calls.answer("take", [], {}, large) == ("error", "ToolCallLimitError", message, 2)
    assert recorded(calls)[1][1] == "{}"


def test_arguments_beyond_json_reach_the_function():
    calls = table()
    calls.add("merge", lambda one, other: one | other)
    calls.gate.types["int"] = int
    frame = calls.answer("merge", [], {}, blob((({1},), {"other": {2}})))
    assert frame[0] == "object"
    assert decode(frame[1].memory.view(), {}) == {1, 2}
    assert recorded(calls) == [("merge", '{"one": "<set>", "other": "<set>"}', '"<set>"', None, None, False)]
    reply = calls.replies()[0]
    assert reply.kept[0] == "object"
    assert decode(reply.frame()[1].memory.view(), {}) == {1, 2}
    for given in ([1], ((1,), {}, 2), ([1], {}), ((1,), {1: 2})):
        frame = calls.answer("merge", [], {}, blob(given))
        assert frame[1:3] == ("ToolInvocationException", "merge: malformed arguments")


def test_object_result_that_json_carries_goes_as_json(monkeypatch):
    calls = table()
    assert calls.add("same", lambda value: value) == "same(value)"
    assert calls.answer("same", [[1]], {}) == ("value", [1])
    assert calls.answer("same", ["x" * 50], {})[0] == "value"
    monkeypatch.setattr(module, "_JSON_RESULT_LIMIT", 10)
    assert calls.answer("same", ["x" * 8], {})[0] == "value"
    assert calls.answer("same", ["x" * 9], {})[0] == "object"
    assert calls._object_bytes > 0


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({1: 2}, "take_one returned a value that is not JSON: keys must be str, not int"),
        (
            10**5000,
            "take_one returned a value that is not JSON: Exceeds the limit (4300 digits) for integer string "
            "conversion; use sys.set_int_max_str_digits() to increase the limit",
        ),
        ({1}, "take_one returned a value that is not JSON: Object of type set is not JSON serializable"),
    ],
    ids=["key", "long", "set"],
)
def test_result_that_is_no_json_is_refused(value, message):
    calls = ToolTable({"take_one": lambda: value}, None)
    assert calls.answer("take_one", [], {}) == ("error", "ToolRuntimeException", message, 1)


def test_result_may_have_a_limited_length(monkeypatch):
    monkeypatch.setattr(module, "_RESULT_LIMIT", 6)
    calls = ToolTable({"four": lambda: "xxxx", "five": lambda: "xxxxx"}, None)
    assert calls.answer("four", [], {}) == ("value", "xxxx")
    assert calls.answer("five", [], {})[2] == "five returned 7 characters; 6 are allowed"


def test_result_that_does_not_travel_names_its_tool():
    calls = table()
    calls.add("look", lambda: print)
    message = "look: a value of type builtin_function_or_method does not travel; inject it under a name"
    assert calls.answer("look", [], {})[2] == f"{message}; it was a result of look"
