"""A conversation with native calls, message by message."""

import asyncio
from typing import Any

import pytest

from carryover.tasks.agent.condition import decoding_seed
from carryover.tasks.agent.events import Acted
from carryover.tasks.agent.protocol import Completion, FunctionCall, Message
from carryover.tasks.agent.runtime_stream import RuntimeStream
from carryover.tasks.cave.agent_spec import AgentSpec
from carryover.tasks.cave.arms.calling import EXECUTE, CallingAgent
from carryover.tasks.runtime.contract import CONTRACTS
from carryover.tasks.runtime.results import BlockResult
from carryover.tasks.traces.vocabulary import FinishReason, TokenSource


def add(first: int, second: float = 0.5, *, words: str = ""):
    """Add two numbers."""
    if words == "fail":
        raise ValueError("no sum")
    return first + second


class Model:
    """Replies in order, and keeps what it was asked."""

    model_name = "m"
    token_source: TokenSource = "server"

    def __init__(self, *replies):
        self.replies = list(replies)
        self.requests = []

    async def complete(self, request):
        self.requests.append(request)
        text, calls = self.replies.pop(0)
        given = tuple(FunctionCall(f"c{len(self.requests)}.{place}", *call) for place, call in enumerate(calls))
        return Completion(text, "stop", 10, 0, 5, 0.0, tool_calls=given)


def play(agent, question="Go.") -> list[Any]:
    async def collect():
        return [event async for event in agent.play(question)]

    return asyncio.run(collect())


def answers(agent):
    return [message.content for message in agent.messages if message.role == "tool"]


def test_a_conversation_is_sent_whole_with_the_functions():
    model = Model(("Adding.", [("add", '{"first": 1}'), ("add", '{"first": 2, "second": 3}')]), ("Done.", []))
    spec = AgentSpec(temperature=0.5, max_completion_tokens=77)
    agent = CallingAgent(model, {"add": add}, spec, name="e", instructions="\nBe brief.")
    *_, answer = play(agent)
    assert (answer.text, answer.stop, answer.step_count) == ("Done.", FinishReason.ANSWER, 2)
    assert (answer.prompt_tokens, answer.completion_tokens) == (20, 10)

    first, second = model.requests
    system, question = first.messages
    assert system.role == "system"
    assert system.content.startswith("You solve tasks by calling functions.\n")
    assert system.content.endswith("that ends the task.\n\nBe brief.")
    assert question == Message(role="user", content="Go.")
    calls = (
        FunctionCall("c1.0", "add", '{"first": 1}'),
        FunctionCall("c1.1", "add", '{"first": 2, "second": 3}'),
    )
    assert second.messages[2:] == (
        Message(role="assistant", content="Adding.", tool_calls=calls),
        Message(role="tool", content="1.5", tool_call_id="c1.0"),
        Message(role="tool", content="5", tool_call_id="c1.1"),
    )
    assert agent.messages[-1] == Message(role="assistant", content="Done.")
    for number, request in enumerate(model.requests):
        assert (request.seed, request.episode_id) == (decoding_seed("e", number, 0), "e")
        assert (request.temperature, request.max_completion_tokens) == (0.5, 77)
        assert request.tools == agent.tools


def test_a_function_is_offered_as_its_signature_declares_it():
    agent = CallingAgent(Model(), {"add": add}, AgentSpec(), name="e")
    properties = {"first": {"type": "integer"}, "second": {"type": "number"}, "words": {"type": "string"}}
    described = {
        "name": "add",
        "description": "Add two numbers.",
        "parameters": {"type": "object", "properties": properties, "required": ["first"]},
    }
    assert agent.tools == ({"type": "function", "function": described},)

    given = {"description": "Mine.", "parameters": {}}
    described_first = CallingAgent(Model(), {"add": add}, AgentSpec(), name="e", schemas={"add": given})
    assert described_first.tools == ({"type": "function", "function": {"name": "add", **given}},)
    agent.add("own", lambda anything: None, {"own": given})
    agent.add("bare", lambda anything: None, {"own": given})
    own, bare = (tool["function"] for tool in agent.tools[1:])
    assert own == {"name": "own", **given}
    parameters = {"type": "object", "properties": {"anything": {}}, "required": ["anything"]}
    assert bare == {"name": "bare", "description": "", "parameters": parameters}


def test_every_plain_type_has_its_word():
    def shape(*, a: str, b: int, c: float, d: bool, e: list, f: dict, g: tuple):
        pass

    agent = CallingAgent(Model(), {"shape": shape}, AgentSpec(), name="e")
    properties = agent.tools[0]["function"]["parameters"]["properties"]
    words = {name: described.get("type") for name, described in properties.items()}
    assert words == {
        "a": "string", "b": "integer", "c": "number", "d": "boolean", "e": "array", "f": "object", "g": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ('{"first": 1', "error: the arguments are not JSON: Expecting ',' delimiter: line 1 column 12 (char 11)"),
        ("[1]", "error: the arguments are not an object"),
        ("1", "error: the arguments are not an object"),
        ('{"first": 1, "words": "fail"}', "error: ToolRuntimeException: ValueError: no sum"),
        ('{"first": 1, "words": "go"}', "1.5"),
    ],
)
def test_a_call_that_fails_is_answered_with_its_error(arguments, told):
    agent = CallingAgent(Model(("", [("add", arguments)]), ("Done.", [])), {"add": add}, AgentSpec(), name="e")
    play(agent)
    assert answers(agent) == [told]


def test_a_call_without_arguments_calls_without_any():
    agent = CallingAgent(Model(("", [("nothing", "")]), ("Done.", [])), {"nothing": lambda: {}}, AgentSpec(), name="e")
    play(agent)
    assert answers(agent) == ["{}"]


def test_calls_of_a_reply_are_one_step_in_python_words():
    calls = [("add", '{"first": 1}'), ("add", "[]"), ("add", '{"first": 1, "words": "fail"}'), ("other", "{}")]
    agent = CallingAgent(Model(("", calls), ("Done.", [])), {"add": add}, AgentSpec(), name="e")
    (acted,) = [event.acted for event in play(agent) if hasattr(event, "acted")]
    assert acted.code.splitlines() == [
        "add(first=1)", "# add: malformed arguments", "add(first=1, words='fail')", "other()",
    ]  # fmt: skip
    assert [call.tool for call in acted.result.tool_calls] == ["add", "add", "other"]
    assert acted.result.output.splitlines()[:3] == [
        "1.5", "error: the arguments are not an object", "error: ToolRuntimeException: ValueError: no sum",
    ]  # fmt: skip
    assert acted.result.seconds == sum(call.seconds for call in acted.result.tool_calls)
    assert not acted.is_verified


def test_python_runs_in_a_session_that_keeps_its_names(fork_tree):
    interpreter = fork_tree.open_interpreter(CONTRACTS["persistent"], {}, instance_id="calls")
    model = Model(
        ("", [(EXECUTE, '{"code": "x = 2\\nprint(x)\\nx + 1"}')]), ("", [(EXECUTE, '{"code": "x / 0"}')]), ("Done.", [])
    )
    agent = CallingAgent(model, {}, AgentSpec(), name="e", python=RuntimeStream(interpreter))
    assert [tool["function"]["name"] for tool in agent.tools] == [EXECUTE]
    first, second = [event.acted for event in play(agent) if hasattr(event, "acted")]
    interpreter.close()
    assert answers(agent)[0] == "2\n\n3"
    assert answers(agent)[1].splitlines()[-1] == "ZeroDivisionError: division by zero"
    assert (first.code, first.result.error, first.is_verified) == ("x = 2\nprint(x)\nx + 1", None, True)
    assert second.result.error is not None
    assert second.result.error.kind == "interpreter"


def test_python_that_is_not_offered_is_an_unknown_function():
    agent = CallingAgent(Model(("", [(EXECUTE, '{"code": "1"}')]), ("Done.", [])), {"add": add}, AgentSpec(), name="e")
    (acted,) = [event.acted for event in play(agent) if hasattr(event, "acted")]
    (told,) = answers(agent)
    assert told.startswith("error: ToolInvocationException: ")
    assert acted.code == "execute_python(code='1')"


def test_a_session_that_broke_its_contract_once_is_not_verified():
    class Python:
        """A session whose first block breaks the contract."""

        def __init__(self):
            self.codes = []

        async def run(self, code):
            self.codes.append(code)
            return Acted(code, BlockResult(output="printed", result="2"), is_verified=len(self.codes) > 1)

    python: Any = Python()
    calls = [(EXECUTE, '{"code": "a"}'), (EXECUTE, "{}")]
    agent = CallingAgent(Model(("", calls), ("Done.", [])), {}, AgentSpec(), name="e", python=python)
    assert agent.is_verified
    (acted,) = [event.acted for event in play(agent) if hasattr(event, "acted")]
    assert (acted.is_verified, agent.is_verified, python.codes) == (False, False, ["a", ""])
    assert answers(agent) == ["printed\n2", "printed\n2"]
    output = "printed\n2\nprinted\n2"
    assert acted == Acted("a\n", BlockResult(output=output), is_verified=False)
