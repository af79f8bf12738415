import asyncio

from carryover.tasks.agent.protocol import Completion, CompletionRequest, FunctionCall, Message
from carryover.tasks.cave.arms.oracle import Oracle
from carryover.tasks.cave.arms.tokens import count_messages, count_reply
from carryover.tasks.cave.suites.case import Call


def test_every_call_of_a_conversation_has_an_id_of_its_own():
    oracle = Oracle([(Call("look", {"n": 1}), Call("look", {"n": 2})), (Call("look", {}),), "Done."])
    messages = [Message(role="user", content="Go.")]
    replies = []
    for _ in range(3):
        replies.append(asyncio.run(oracle.complete(CompletionRequest(tuple(messages), 0, "episode"))))
        messages.append(Message(role="assistant", content=""))
    assert [[call.call_id for call in reply.tool_calls] for reply in replies] == [
        ["call_0_0", "call_0_1"],
        ["call_1_0"],
        [],
    ]
    assert [reply.finish_reason for reply in replies] == ["tool_calls", "tool_calls", "stop"]
    assert [reply.text for reply in replies] == ["", "", "Done."]


def test_a_reply_is_counted_by_the_stated_tokenizer():
    messages = (Message(role="user", content="Look at 1234567."),)
    tools = ({"type": "function", "function": {"name": "look"}},)
    oracle = Oracle([(Call("look", {"n": 1}),)])
    call = FunctionCall("call_0_0", "look", '{"n": 1}')
    assert asyncio.run(oracle.complete(CompletionRequest(messages, 0, "episode", tools=tools))) == Completion(
        text="",
        finish_reason="tool_calls",
        prompt_tokens=count_messages(messages, tools),
        cached_prompt_tokens=0,
        completion_tokens=count_reply("", [call]),
        model_seconds=0.0,
        tool_calls=(call,),
    )
