"""Lines of the export for trainers: real calls, their answers, and the tools on offer."""

import json

from carryover.tasks.cave.arms.rewards import Recorded, calling_messages, reward_record, split_of

ANSWER = {"role": "tool", "content": "3", "tool_call_id": "c1"}
CALL = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"name": "x"}'}}
TOOL = {"type": "function", "function": {"name": "read", "parameters": {}}}


def row(agent, replies, **values):
    return {
        "episode_id": "e",
        "suite": "types",
        "tier": "simple",
        "case_id": "types/simple/001",
        "rewards": [{"question": 1, "last_reply": 2, "reward": 1.0, "components": {"state": 1.0, "calls": 1.0}}],
        "agent": agent,
        "contract_json": json.dumps({"tools": [TOOL]} if agent == "calls" else {}),
        "opening": json.dumps([{"role": "system", "content": "Call."}, {"role": "user", "content": "Read x."}]),
        "replies": [{"assistant_text": text, "observation": observation} for text, observation in replies],
        **values,
    }


def test_calls_and_their_answers_are_messages_of_an_endpoint():
    said = 'I read it.\n[["read", "{\\"name\\": \\"x\\"}"]]'
    line = reward_record(row("calls", [(said, json.dumps([ANSWER])), ("It is 3.", "Thanks."), ("Bye.", None)]))
    assert line["messages"][2:] == [
        {"role": "assistant", "content": "I read it.", "tool_calls": [CALL]},
        ANSWER,
        {"role": "assistant", "content": "It is 3."},
        {"role": "user", "content": "Thanks."},
        {"role": "assistant", "content": "Bye."},
    ]
    assert line["tools"] == [TOOL]
    assert (line["suite"], line["tier"], line["split"]) == ("types", "simple", split_of("types/simple/001"))
    assert line["rewards"][0]["components"] == {"state": 1.0, "calls": 1.0}


def test_blocks_of_code_are_plain_messages():
    line = reward_record(row("cave", [("```python\nx\n```", "<value>3</value>"), ('[["a", "b"]]', None)]))
    assert [message["role"] for message in line["messages"]] == ["system", "user", "assistant", "user", "assistant"]
    assert line["messages"][-1] == {"role": "assistant", "content": '[["a", "b"]]'}
    assert line["tools"] == []


def test_an_answer_in_json_is_no_call():
    assert calling_messages([Recorded('[["a", "b"]]', None)]) == [{"role": "assistant", "content": '[["a", "b"]]'}]


def test_a_refusal_among_answers_keeps_its_role():
    refusal = {"role": "user", "content": "Reply more briefly."}
    messages = calling_messages([Recorded('[["read", "{}"]]', json.dumps([ANSWER, refusal]))])
    assert [message["role"] for message in messages] == ["assistant", "tool", "user"]


def test_a_fifth_of_the_cases_is_held_out():
    splits = [split_of(f"types/simple/{number:03d}") for number in range(1000)]
    assert 150 < splits.count("evaluation") < 250
    assert splits.count("train") + splits.count("evaluation") == 1000
    assert [number for number in range(30) if splits[number] == "evaluation"] == [10, 16, 19]
