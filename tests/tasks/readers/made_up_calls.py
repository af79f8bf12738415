"""The made-up blocks as calls of further services, and in the tokens of models' templates."""

import json


def custom_call(code, output, call_id):
    call = {"id": call_id, "type": "custom", "custom": {"name": "code_exec", "input": code}}
    reply = {"role": "assistant", "content": None, "tool_calls": [call]}
    return [reply, {"role": "tool", "tool_call_id": call_id, "content": output}]


def bedrock_call(code, output, call_id):
    call = {"toolUse": {"toolUseId": call_id, "name": "python", "input": {"code": code}}}
    status = "error" if "Error" in output else "success"
    result = {"toolResult": {"toolUseId": call_id, "content": [{"text": output}], "status": status}}
    return [{"role": "assistant", "content": [{"text": "Next."}, call]}, {"role": "user", "content": [result]}]


def sdk_call(code, output, call_id):
    """A part of the AI SDK's interface, which is call and result."""
    part = {"type": "tool-runPython", "toolCallId": call_id, "input": {"code": code}}
    if "Error" in output:
        return [{"role": "assistant", "parts": [part | {"state": "output-error", "errorText": output}]}]
    return [{"role": "assistant", "parts": [part | {"state": "output-available", "output": output}]}]


def sdk_message(code, output, call_id):
    """Messages of the AI SDK's model."""
    call = {"type": "tool-call", "toolCallId": call_id, "toolName": "python", "input": {"code": code}}
    result = {"type": "tool-result", "toolCallId": call_id, "toolName": "python",
              "output": {"type": "text", "value": output}}  # fmt: skip
    return [{"role": "assistant", "content": [call]}, {"role": "tool", "content": [result]}]


def sdk_invocation(code, output, call_id):
    held = {"state": "result", "toolCallId": call_id, "toolName": "python", "args": {"code": code}, "result": output}
    return [{"role": "assistant", "content": "", "parts": [{"type": "tool-invocation", "toolInvocation": held}]}]


def harmony_call(code, output, _):
    reply = {"role": "assistant", "channel": "analysis", "recipient": "python", "content": code}
    return [reply, {"role": "tool", "name": "python", "content": output}]


def fenced_argument(code, output, _):
    """A call of Qwen's agent, whose argument is a fence."""
    called = {"name": "code_interpreter", "arguments": f"```py\n{code}\n```"}
    reply = {"role": "assistant", "content": "", "function_call": called}
    return [reply, {"role": "function", "name": "code_interpreter", "content": output}]


def deepseek_call(code, output, _):
    held = f"function<｜tool▁sep｜>python\n```json\n{json.dumps({'code': code})}\n```"
    return _answered(
        f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>{held}<｜tool▁call▁end｜><｜tool▁calls▁end｜>", output
    )


def kimi_call(code, output, _):
    held = f"functions.python:0<|tool_call_argument_begin|>{json.dumps({'code': code})}"
    return _answered(f"<|tool_calls_section_begin|><|tool_call_begin|>{held}<|tool_call_end|>", output)


def llama_call(code, output, _):
    return [{"role": "assistant", "content": f"<|python_tag|>{code}<|eom_id|>"}, {"role": "ipython", "content": output}]


def mistral_call(code, output, _):
    return _answered(f"[TOOL_CALLS]python[ARGS]{json.dumps({'code': code})}</s>", output)


def mistral_list(code, output, _):
    return _answered(f"[TOOL_CALLS] {json.dumps([{'name': 'python', 'arguments': {'code': code}}])}", output)


def react_call(code, output, _):
    told = f"Thought: next\nAction: Python REPL\nAction Input: {code}\n"
    return [{"role": "assistant", "content": told}, {"role": "user", "content": f"Observation: {output}"}]


def _answered(text, output):
    return [{"role": "assistant", "content": text}, {"role": "tool", "content": output}]


STYLES = {
    "custom calls": custom_call,
    "Bedrock calls": bedrock_call,
    "AI SDK parts": sdk_call,
    "AI SDK messages": sdk_message,
    "AI SDK invocations": sdk_invocation,
    "Harmony calls": harmony_call,
    "calls with a fence": fenced_argument,
    "DeepSeek's tokens": deepseek_call,
    "Kimi's tokens": kimi_call,
    "Llama's tag": llama_call,
    "Mistral's tokens": mistral_call,
    "Mistral's list": mistral_list,
    "ReAct": react_call,
}
