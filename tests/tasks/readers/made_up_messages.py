"""Chats whose replies hold the made-up blocks, each in another style."""

import json
from typing import Any

BLOCKS = (
    ("import math\nwidths = [3, 1, 2]\nlimit = 4", "ok"),
    ("area = sum(w * w for w in widths)\ntry:\n    print(area, kept)\nexcept NameError as e:\n    print(area, e)",
     "14 name 'kept' is not defined"),
    ("print(math.sqrt(area), missing)", "NameError: name 'missing' is not defined"),
)  # fmt: skip
COMMANDS = (("export W=3", "ok"), ("echo $W > w.txt", ""), ("cat w.txt && false", "exit code: 1"))
QUESTION = "Add up the squares."
ANSWER = "The answer is 14."
TRACEBACK = 'Traceback (most recent call last):\n  File "<string>", line 1, in <module>\n'


def lines(records):
    return "\n".join(map(json.dumps, records)).encode()


def document(content):
    return json.dumps(content).encode()


def chat(style):
    """Messages of a chat whose replies call a tool or write blocks in a style."""
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    for number, (code, output) in enumerate(BLOCKS):
        messages += style(code, output, f"call-{number}")
    return [*messages, {"role": "assistant", "content": ANSWER}]


def fenced(code, output, _):
    reply = {"role": "assistant", "content": f"Next:\n```python\n{code}\n```"}
    return [reply, {"role": "user", "content": f"Output: {output}"}]


def listed_fence(code, output, _):
    indented = "\n".join(f"   {line}" for line in code.splitlines())
    reply = {"role": "assistant", "content": f"1. Run it:\n   ```python\n{indented}\n   ```\n"}
    return [reply, {"role": "user", "content": output}]


def tagged(code, output, _):
    return [{"role": "assistant", "content": f"<execute>\n{code}\n</execute>"}, {"role": "user", "content": output}]


def xml_call(code, output, _):
    called = f"<function=execute_ipython_cell>\n<parameter=code>\n{code}\n</parameter>\n</function>"
    return [{"role": "assistant", "content": called}, {"role": "user", "content": output}]


def json_call(code, output, _):
    called = json.dumps({"name": "python", "arguments": {"code": code}})
    reply = {"role": "assistant", "content": f"<tool_call>\n{called}\n</tool_call>"}
    return [reply, {"role": "tool", "content": output}]


def openai_call(code, output, call_id):
    function = {"name": "python", "arguments": json.dumps({"code": code})}
    calls = [{"id": call_id, "type": "function", "function": function}]
    reply = {"role": "assistant", "content": None, "tool_calls": calls}
    return [reply, {"role": "tool", "tool_call_id": call_id, "content": output}]


def anthropic_call(code, output, call_id):
    reply = {"role": "assistant", "content": [{"type": "text", "text": "Next."}, call_part(code, call_id)]}
    result = {"type": "tool_result", "tool_use_id": call_id, "content": [{"type": "text", "text": output}]}
    return [reply, {"role": "user", "content": [result]}]


def call_part(code, call_id):
    return {"type": "tool_use", "id": call_id, "name": "python", "input": {"code": code}}


def anthropic_server_call(code, output, call_id):
    is_error = "Error" in output
    held: dict[str, Any] = {"type": "code_execution_result", "stdout": "" if is_error else output,
            "stderr": TRACEBACK + output if is_error else "", "return_code": int(is_error)}  # fmt: skip
    call = {"type": "server_tool_use", "id": call_id, "name": "code_execution", "input": {"code": code}}
    result = {"type": "code_execution_tool_result", "tool_use_id": call_id, "content": held}
    return [{"role": "assistant", "content": [call, result]}]


def share_gpt():
    told: list[Any] = [{"from": "human", "value": QUESTION}]
    for code, output in BLOCKS:
        told += [{"from": "gpt", "value": f"```python\n{code}\n```"}, {"from": "human", "value": output}]
    return lines([{"id": "a", "conversations": [*told, {"from": "gpt", "value": ANSWER}]}])


def share_gpt_calls():
    """Turns of LLaMA-Factory: calls and observations with roles of their own."""
    told: list[Any] = [{"from": "human", "value": QUESTION}]
    for code, output in BLOCKS:
        call = {"name": "python", "arguments": {"code": code}}
        told += [{"from": "function_call", "value": json.dumps(call)}, {"from": "observation", "value": output}]
    return lines([{"conversations": [*told, {"from": "gpt", "value": ANSWER}]}])
