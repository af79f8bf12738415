"""One made-up episode in every layout: three blocks, of which the last fails in a fresh process."""

import io
import json
import zipfile
from typing import Any

BLOCKS = (
    ("import math\nwidths = [3, 1, 2]\nlimit = 4", "ok"),
    ("area = sum(w * w for w in widths)\nprint(area)", "14"),
    ("print(math.sqrt(area), missing)", "NameError: name 'missing' is not defined"),
)
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


def responses():
    items: list[Any] = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": QUESTION}]}]
    for number, (code, output) in enumerate(BLOCKS):
        call_id = f"call-{number}"
        held = {"type": "code_interpreter_call", "id": call_id, "code": code, "container_id": "c",
                "outputs": [{"type": "logs", "logs": output}]}  # fmt: skip
        call = {"type": "function_call", "call_id": call_id, "name": "python", "arguments": json.dumps({"code": code})}
        answer = {"type": "function_call_output", "call_id": call_id, "output": output}
        items += [held] if number == 0 else [call, answer]
    answer = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": ANSWER}]}
    return document({"id": "resp", "object": "response", "output": [*items, answer]})


def responses_chain():
    """Three responses, each a continuation of the one before, and other kinds of calls."""
    code, output = BLOCKS[0]
    ran = {"type": "code_interpreter_call", "id": "ci", "code": code, "outputs": [{"type": "logs", "logs": output}]}
    code, output = BLOCKS[1]
    called = {"type": "mcp_call", "id": "m", "name": "run_python", "server_label": "s", "error": None,
              "arguments": json.dumps({"code": code}), "output": output}  # fmt: skip
    code, output = BLOCKS[2]
    custom = {"type": "custom_tool_call", "call_id": "c", "name": "code_exec", "input": code}
    answered = {"type": "custom_tool_call_output", "call_id": "c", "output": output}
    searched = {"type": "web_search_call", "id": "w", "status": "completed", "action": {"type": "search"}}
    return lines(
        [{"id": "r1", "object": "response", "previous_response_id": None, "output": [searched, ran]},
         {"id": "r2", "object": "response", "previous_response_id": "r1", "output": [called, custom]},
         {"id": "r3", "object": "response", "previous_response_id": "r2", "input": [answered], "output": []}]
    )  # fmt: skip


def responses_shell():
    items: list[Any] = []
    for number, (command, output) in enumerate(COMMANDS):
        exit_code = int(output.startswith("exit"))
        held = {"stdout": output, "stderr": "", "outcome": {"type": "exit", "exit_code": exit_code}}
        items.append({"type": "shell_call", "call_id": f"c{number}", "action": {"commands": [command]}})
        items.append({"type": "shell_call_output", "call_id": f"c{number}", "output": [held]})
    return document({"object": "response", "output": items})


def gemini():
    """A request with function calls, answered by executable code."""
    contents: list[Any] = [{"role": "user", "parts": [{"text": QUESTION}]}]
    for code, output in BLOCKS[:1]:
        called = {"functionCall": {"name": "run_python", "args": {"code": code}}}
        contents.append({"role": "model", "parts": [{"text": "Private.", "thought": True}, called]})
        answered = {"functionResponse": {"name": "run_python", "response": {"output": output}}}
        contents.append({"role": "user", "parts": [answered]})
    parts: list[Any] = []
    for code, output in BLOCKS[1:]:
        outcome = "OUTCOME_FAILED" if "Error" in output else "OUTCOME_OK"
        parts.append({"executableCode": {"language": "PYTHON", "code": code}})
        parts.append({"codeExecutionResult": {"outcome": outcome, "output": output}})
    answer = {"role": "model", "parts": [*parts, {"text": ANSWER}]}
    return lines([{"contents": contents, "candidates": [{"content": answer}]}])


def gemini_in_python():
    """Bare contents with the names of the Python package."""
    contents: list[Any] = [{"role": "user", "parts": [{"text": QUESTION}]}]
    for code, output in BLOCKS:
        outcome = {"outcome": "OUTCOME_FAILED" if "Error" in output else "OUTCOME_OK", "output": output}
        parts = [{"executable_code": {"language": "PYTHON", "code": code}, "text": None},
                 {"code_execution_result": outcome, "text": None}]  # fmt: skip
        contents.append({"role": "model", "parts": parts})
    return document([*contents, {"role": "model", "parts": [{"text": ANSWER}]}])


def swe_agent():
    steps: list[Any] = [
        {"response": f"Next.\n```\n{command}\n```", "thought": "Next.", "action": command, "observation": output,
         "state": {"working_dir": "/src"}}
        for command, output in COMMANDS
    ]  # fmt: skip
    steps.append({"response": ANSWER, "thought": ANSWER, "action": "submit", "observation": "", "state": {}})
    history = [{"role": "system", "content": "Work."}, {"role": "user", "content": QUESTION}]
    info = {"exit_status": "submitted", "model_stats": {"tokens_sent": 30, "tokens_received": 6}}
    return document({"trajectory": steps, "history": history, "info": info, "instance_id": "task-1"})


def mini_swe_agent():
    messages: list[Any] = [{"role": "system", "content": "Work."}, {"role": "user", "content": QUESTION}]
    for command, output in COMMANDS:
        messages.append({"role": "assistant", "content": f"THOUGHT: next\n```bash\n{command}\n```"})
        told = f"<returncode>{int(output.startswith('exit'))}</returncode>\n<output>\n{output}\n</output>"
        messages.append({"role": "user", "content": told})
    info = {"exit_status": "Submitted", "submission": "", "mini_version": "2.1.0"}
    return document({"info": info, "messages": messages, "trajectory_format": "mini-swe-agent-1.1"})


def openhands_events():
    events: list[Any] = [{"id": 0, "source": "user", "action": "message", "args": {"content": QUESTION}}]
    for code, output in BLOCKS:
        number = len(events)
        action = {"id": number, "source": "agent", "action": "run_ipython", "args": {"code": code, "thought": "Next."}}
        answer = {"id": number + 1, "source": "agent", "cause": number, "observation": "run_ipython", "content": output}
        events += [action, answer]
    return [*events, {"id": 99, "source": "agent", "action": "finish", "args": {"final_thought": ANSWER}}]


def openhands_typed_events():
    told: dict[str, Any] = {"role": "user", "content": [{"type": "text", "text": QUESTION}]}
    events: list[Any] = [{"kind": "MessageEvent", "source": "user", "llm_message": told}]
    for number, (command, output) in enumerate(COMMANDS):
        code = int(output.startswith("exit"))
        action = {"kind": "TerminalAction", "command": command, "is_input": False}
        called = {"kind": "ActionEvent", "source": "agent", "tool_name": "terminal", "tool_call_id": f"c{number}",
                  "action": action, "thought": [{"type": "text", "text": "Next."}]}  # fmt: skip
        held = {"kind": "TerminalObservation", "content": [{"type": "text", "text": output}], "exit_code": code}
        answer = {"kind": "ObservationEvent", "source": "environment", "tool_name": "terminal",
                  "tool_call_id": f"c{number}", "observation": held}  # fmt: skip
        events += [called, answer]
    return lines(events)


def smolagents():
    steps: list[Any] = [{"task": QUESTION, "task_images": None}]
    for number, (code, output) in enumerate(BLOCKS, start=1):
        is_error = "Error" in output
        error = {"type": "AgentExecutionError",
                 "message": "Code execution failed at line 'print(math.sqrt(area), missing)' due to: InterpreterError: "
                            "The variable `missing` is not defined."}  # fmt: skip
        steps.append(
            {"step_number": number, "code_action": code, "model_output": f"Thought: next.\n<code>\n{code}\n</code>",
             "tool_calls": [{"id": "c", "type": "function",
                             "function": {"name": "python_interpreter", "arguments": code}}],
             "observations": f"Execution logs:\n{'' if is_error else output}", "error": error if is_error else None,
             "token_usage": {"input_tokens": 10, "output_tokens": 2}, "is_final_answer": number == len(BLOCKS)}
        )  # fmt: skip
    return document(steps)


def rlm():
    records: list[Any] = [{"type": "metadata", "root_model": "m", "environment_type": "local", "max_iterations": 9}]
    for number, (code, output) in enumerate(BLOCKS, start=1):
        is_error = "Error" in output
        result = {"stdout": "" if is_error else output, "stderr": output if is_error else "", "locals": {},
                  "execution_time": 0.1, "rlm_calls": []}  # fmt: skip
        records.append(
            {"type": "iteration", "iteration": number, "prompt": [], "response": f"```repl\n{code}\n```",
             "code_blocks": [{"code": code, "result": result}],
             "final_answer": ANSWER if number == len(BLOCKS) else None}
        )  # fmt: skip
    return lines(records)


def open_interpreter():
    messages: list[Any] = [{"role": "user", "type": "message", "content": QUESTION}]
    for code, output in BLOCKS:
        messages.append({"role": "assistant", "type": "code", "format": "python", "content": code})
        messages.append({"role": "computer", "type": "console", "format": "active_line", "content": "1"})
        messages.append({"role": "computer", "type": "console", "format": "output", "content": output})
    return document([*messages, {"role": "assistant", "type": "message", "content": ANSWER}])


def chatgpt_export():
    told: list[Any] = [("user", "all", "text", QUESTION)]
    for code, output in BLOCKS:
        told += [("assistant", "python", "code", code), ("tool", "all", "execution_output", output)]
    told.append(("assistant", "all", "text", ANSWER))
    mapping: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None, "children": ["0"]}}
    for number, (role, recipient, kind, text) in enumerate(told):
        held = {"content_type": kind, "parts": [text]} if kind == "text" else {"content_type": kind, "text": text}
        author = {"role": role, "name": "python" if role == "tool" else None}
        message = {"id": str(number), "author": author, "recipient": recipient, "content": held}
        parent = str(number - 1) if number else "root"
        mapping[str(number)] = {"id": str(number), "message": message, "parent": parent, "children": []}
    stray = {"author": {"role": "assistant"}, "recipient": "python", "content": {"content_type": "code", "text": "x"}}
    mapping["stray"] = {"id": "stray", "message": stray, "parent": "0", "children": []}
    last = str(len(told) - 1)
    return document([{"id": "a", "title": "Squares", "mapping": mapping, "current_node": last}])


def claude_code():
    records: list[Any] = [
        {"type": "summary", "summary": "Squares", "leafUuid": "u"},
        {"type": "user", "sessionId": "s", "uuid": "u", "message": {"role": "user", "content": QUESTION}},
    ]
    for number, (command, output) in enumerate(COMMANDS):
        call = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": command}}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": output,
                  "is_error": output.startswith("exit")}  # fmt: skip
        spoken = {"id": f"m{number}", "role": "assistant", "content": [{"type": "text", "text": "Next."}]}
        for message in (spoken, {"id": f"m{number}", "role": "assistant", "content": [call]}):
            records.append({"type": "assistant", "sessionId": "s", "uuid": f"a{number}", "message": message})
        records.append({"type": "user", "sessionId": "s", "message": {"role": "user", "content": [result]}})
    answer = {"role": "assistant", "content": [{"type": "text", "text": ANSWER}]}
    return lines([*records, {"type": "assistant", "sessionId": "s", "message": answer}])


def inspect_sample():
    messages: list[Any] = [{"role": "user", "content": "attachment://q"}]
    for number, (code, output) in enumerate(BLOCKS):
        call = {"id": f"c{number}", "function": "python", "arguments": {"code": code}, "type": "function"}
        messages.append({"role": "assistant", "content": [{"type": "text", "text": "Next."}], "tool_calls": [call]})
        messages.append({"role": "tool", "content": output, "tool_call_id": f"c{number}", "function": "python"})
    messages.append({"role": "assistant", "content": ANSWER})
    return {"id": "squares", "epoch": 1, "input": QUESTION, "target": "14", "messages": messages,
            "scores": {"match": {"value": "C"}}, "attachments": {"q": QUESTION},
            "model_usage": {"m": {"input_tokens": 30, "output_tokens": 6}}}  # fmt: skip


def inspect_json():
    about: dict[str, Any] = {"version": 2, "status": "success", "eval": {"task": "t", "model": "m"}, "plan": {}}
    return document(about | {"samples": [inspect_sample()]})


def inspect_eval():
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        header = {"version": 2, "status": "success", "eval": {"task": "t", "model": "m"}, "plan": {}}
        archive.writestr("header.json", json.dumps(header))
        archive.writestr("samples/squares_epoch_1.json", json.dumps(inspect_sample()))
        summary = {"id": "squares", "epoch": 1, "input": QUESTION, "target": "14", "completed": True}
        archive.writestr("summaries.json", json.dumps([summary]))
        archive.writestr("reductions.json", json.dumps([{"scorer": "match", "samples": [{"value": 1.0}]}]))
    return held.getvalue()


def atif(version):
    steps: list[Any] = [{"step_id": 1, "source": "user", "message": QUESTION}]
    for number, (code, output) in enumerate(BLOCKS, start=2):
        call_id = f"c{number}"
        steps.append(
            {"step_id": number, "source": "agent", "message": [{"type": "text", "text": "Next."}],
             "tool_calls": [{"tool_call_id": call_id, "function_name": "python", "arguments": {"code": code}}],
             "observation": {"results": [{"source_call_id": call_id, "content": output}]},
             "metrics": {"prompt_tokens": 10, "completion_tokens": 2}}
        )  # fmt: skip
    steps.append({"step_id": len(steps) + 1, "source": "agent", "message": ANSWER})
    agent = {"name": "a", "version": "1", "model_name": "m"}
    return document({"schema_version": version, "session_id": "s", "agent": agent, "steps": steps})


def openinference():
    """An agent's run: each call of the model repeats the messages before it."""
    spans: list[Any] = []
    told: list[Any] = [{"role": "user", "content": QUESTION}]
    for number, (code, output) in enumerate(BLOCKS):
        attributes = {"openinference.span.kind": "LLM"}
        for index, message in enumerate(told):
            attributes |= flattened(f"llm.input_messages.{index}", message)
        call_id = f"c{number}"
        arguments = json.dumps({"code": code})
        reply = {"role": "assistant", "content": "Next.", "call": {"id": call_id, "arguments": arguments}}
        attributes |= flattened("llm.output_messages.0", reply)
        spans.append({"context": {"trace_id": "t"}, "start_time": f"2026-01-0{number + 1}", "attributes": attributes})
        told += [reply, {"role": "tool", "content": output, "tool_call_id": call_id}]
    last: dict[str, Any] = {"openinference.span.kind": "LLM"}
    for index, message in enumerate(told):
        last |= flattened(f"llm.input_messages.{index}", message)
    last |= flattened("llm.output_messages.0", {"role": "assistant", "content": ANSWER})
    spans.append({"context": {"trace_id": "t"}, "start_time": "2026-01-09", "attributes": last})
    return lines(spans[::-1])


def flattened(prefix, message):
    keys: dict[str, Any] = {f"{prefix}.message.{key}": value for key, value in message.items() if key != "call"}
    call = message.get("call")
    if call is None:
        return keys
    place = f"{prefix}.message.tool_calls.0.tool_call"
    return keys | {f"{place}.id": call["id"], f"{place}.function.name": "python",
                   f"{place}.function.arguments": call["arguments"]}  # fmt: skip


def opentelemetry():
    """An export of OTLP: the model's calls with all messages in attributes."""
    told: list[Any] = [{"role": "user", "parts": [{"type": "text", "content": QUESTION}]}]
    spans: list[Any] = []
    for number, (code, output) in enumerate(BLOCKS):
        call = {"type": "tool_call", "id": f"c{number}", "name": "python", "arguments": {"code": code}}
        reply = {"role": "assistant", "parts": [call], "finish_reason": "tool_call"}
        spans.append(otlp_span(number, told, reply))
        result = {"type": "tool_call_response", "id": f"c{number}", "response": output}
        told = [*told, reply, {"role": "tool", "parts": [result]}]
    spans.append(otlp_span(9, told, {"role": "assistant", "parts": [{"type": "text", "content": ANSWER}]}))
    return document({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})


def otlp_span(number, told, reply):
    held = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.input.messages": json.dumps(told),
            "gen_ai.output.messages": json.dumps([reply])}  # fmt: skip
    attributes = [{"key": key, "value": {"stringValue": value}} for key, value in held.items()]
    return {"traceId": "t", "spanId": str(number), "startTimeUnixNano": str(number), "attributes": attributes}


def opentelemetry_tools():
    spans: list[Any] = []
    for number, (code, output) in enumerate(BLOCKS):
        held = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "python",
                "gen_ai.tool.call.id": f"c{number}", "gen_ai.tool.call.arguments": json.dumps({"code": code}),
                "gen_ai.tool.call.result": output}  # fmt: skip
        spans.append({"trace_id": "t", "start_time": number, "attributes": held})
    return lines(spans)


def opentelemetry_events():
    """Spans whose messages stand in an event, and executed tools with an object as arguments."""
    told: list[Any] = [{"role": "user", "parts": [{"type": "text", "content": QUESTION}]}]
    spans: list[Any] = []
    for number, (code, output) in enumerate(BLOCKS):
        call = {"type": "tool_call", "id": f"c{number}", "name": "python", "arguments": {"code": code}}
        reply = {"role": "assistant", "parts": [call]}
        held = {"gen_ai.input.messages": told, "gen_ai.output.messages": [reply]}
        details = {"name": "gen_ai.client.inference.operation.details", "attributes": held}
        operation = {"gen_ai.operation.name": "chat"}
        spans.append({"trace_id": "t", "start_time": number, "attributes": operation, "events": [details]})
        told = [*told, reply, {"role": "tool", "parts": [{"type": "tool_call_response", "id": f"c{number}",
                                                          "response": output}]}]  # fmt: skip
    last = {"gen_ai.input.messages": told, "gen_ai.output.messages": [{"role": "assistant", "parts": []}]}
    return lines([*spans, {"trace_id": "t", "start_time": 9, "attributes": last}])


def opentelemetry_objects():
    spans: list[Any] = []
    for number, (code, output) in enumerate(BLOCKS):
        call = {"arguments": {"code": code}, "result": output, "id": str(number)}
        held = {"gen_ai.tool.name": "python", "gen_ai.tool.call": call}
        spans.append({"trace_id": "t", "start_time": number, "attributes": held})
    return lines(spans)


def openinference_tools():
    """Executed tools, below an agent whose model's messages nobody recorded."""
    spans: list[Any] = [{"trace_id": "t", "start_time": 0, "attributes": {"openinference.span.kind": "AGENT"}}]
    for number, (code, output) in enumerate(BLOCKS, start=1):
        held = {"openinference.span.kind": "TOOL", "tool.name": "python", "input.value": json.dumps({"code": code}),
                "output.value": output}  # fmt: skip
        spans.append({"trace_id": "t", "start_time": number, "attributes": held})
    return lines(spans)


def printed_spans():
    """Spans as a console prints them: documents of several lines."""
    return b"\n".join(json.dumps(json.loads(line), indent=4).encode() for line in openinference().splitlines())


def openinference_cut():
    """Replies that a stop sequence cut, and that the harness repeats with their end."""
    told: list[Any] = [{"role": "user", "content": QUESTION}]
    spans: list[Any] = []
    for number, (code, output) in enumerate(BLOCKS):
        attributes: dict[str, Any] = {"openinference.span.kind": "LLM"}
        for index, message in enumerate(told):
            attributes |= flattened(f"llm.input_messages.{index}", message)
        attributes |= flattened("llm.output_messages.0", {"role": "assistant", "content": f"<code>\n{code}\n"})
        spans.append({"context": {"trace_id": "t"}, "start_time": f"2026-01-0{number + 1}", "attributes": attributes})
        whole = {"role": "assistant", "content": f"<code>\n{code}\n</code>"}
        told += [whole, {"role": "user", "content": f"Observation: {output}"}]
    last: dict[str, Any] = {"openinference.span.kind": "LLM"}
    for index, message in enumerate(told):
        last |= flattened(f"llm.input_messages.{index}", message)
    last |= flattened("llm.output_messages.0", {"role": "assistant", "content": ANSWER})
    return lines([*spans, {"context": {"trace_id": "t"}, "start_time": "2026-01-09", "attributes": last}])


def openllmetry():
    """Spans with the messages of each call in flattened attributes."""
    spans: list[Any] = []
    told: dict[str, Any] = {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": QUESTION}
    for number, (code, output) in enumerate(BLOCKS):
        arguments = json.dumps({"code": code})
        call = {"tool_calls.0.id": f"c{number}", "tool_calls.0.name": "python", "tool_calls.0.arguments": arguments}
        answered = {f"gen_ai.completion.0.{key}": value for key, value in call.items()}
        spans.append({"trace_id": "t", "start_time": number, "attributes": {**told, **answered}})
        at = 2 * number + 1
        told |= {f"gen_ai.prompt.{at}.role": "assistant"}
        told |= {f"gen_ai.prompt.{at}.{key}": value for key, value in call.items()}
        told |= {f"gen_ai.prompt.{at + 1}.role": "tool", f"gen_ai.prompt.{at + 1}.content": output,
                 f"gen_ai.prompt.{at + 1}.tool_call_id": f"c{number}"}  # fmt: skip
    last: dict[str, Any] = {"gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": ANSWER}
    return lines([*spans, {"trace_id": "t", "start_time": 9, "attributes": {**told, **last}}])


def phoenix_rows():
    """A table of spans with a column per attribute, messages nested."""
    told: list[Any] = [{"message": {"role": "user", "content": QUESTION}}]
    rows: list[Any] = []
    for number, (code, output) in enumerate(BLOCKS):
        function = {"name": "python", "arguments": json.dumps({"code": code})}
        reply = {"role": "assistant", "tool_calls": [{"tool_call": {"id": f"c{number}", "function": function}}]}
        rows.append(phoenix_row(number, told, reply))
        result = {"role": "tool", "content": output, "tool_call_id": f"c{number}"}
        told = [*told, {"message": reply}, {"message": result}]
    return lines([*rows, phoenix_row(9, told, {"role": "assistant", "content": ANSWER})])


def phoenix_row(number, told, reply):
    return {"context.trace_id": "t", "start_time": number, "attributes.openinference.span.kind": "LLM",
            "attributes.llm.input_messages": told, "attributes.llm.output_messages": [{"message": reply}]}  # fmt: skip


def verifiers_lines():
    prompt, *completion = chat(openai_call)
    return lines([{"example_id": 3, "prompt": [prompt], "completion": completion, "answer": "14", "reward": 0.5}])


def verifiers_trace():
    nodes: list[Any] = [{"message": message, "parent": number - 1 if number else None}
             for number, message in enumerate(chat(openai_call))]  # fmt: skip
    rewards = {"right": {"score": 1.0, "weight": 0.5}}
    return lines([{"version": 1, "id": "v", "task": {"type": "T", "data": {}, "key": "squares"}, "agent": {},
                   "nodes": nodes, "rewards": rewards}])  # fmt: skip


def verifiers_json_calls():
    """Lines whose calls are JSON in a text, as data sets of verifiers keep them."""
    prompt, *completion = chat(openai_call)
    for message in completion:
        if message.get("tool_calls"):
            message["tool_calls"] = [json.dumps(call) for call in message["tool_calls"]]
    return lines([{"example_id": 3, "prompt": [prompt], "completion": completion, "reward": 0.5}])


def verifiers_episode():
    trace = json.loads(verifiers_trace())
    trace["agent"] = {"config": {"model": "m"}}
    return lines([{"id": "e", "env": {"id": "squares"}, "task": trace["task"], "ok": True, "traces": [trace]}])


def prompt_completion():
    text = "\n".join(f"```python\n{code}\n```\n{output}" for code, output in BLOCKS)
    return lines([{"prompt": QUESTION, "completion": text}])


def notebook():
    cells: list[Any] = [{"cell_type": "markdown", "metadata": {}, "source": [QUESTION]}]
    for number, (code, output) in enumerate(BLOCKS, start=1):
        name, _, value = output.partition(": ")
        failed = {"output_type": "error", "ename": name, "evalue": value, "traceback": ["\x1b[31m" + output]}
        printed = {"output_type": "stream", "name": "stdout", "text": [output]}
        cells.append(
            {"cell_type": "code", "metadata": {}, "execution_count": number, "source": code.splitlines(keepends=True),
             "outputs": [failed if "Error" in output else printed]}
        )  # fmt: skip
    return document({"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": {"language": "python"}},
                     "cells": cells})  # fmt: skip


def authors():
    events: list[Any] = []
    for number, (code, output) in enumerate(BLOCKS):
        error = TRACEBACK + output if "Error" in output else None
        outcome = {"success": error is None, "result": None, "output": "" if error else output, "error": error}
        step = {
            "turn": number,
            "assistant_text": f"```python\n{code}\n```",
            "code": code,
            "interpreter_result": outcome,
        }
        events += [{"type": "ModelResponseEvent", "data": {"completion_tokens": 2, "total_tokens": 12}},
                   {"type": "StepEvent", "data": step}]  # fmt: skip
    summary = {"task": QUESTION, "system_prompts": [], "finish_reason": "finish_tool"}
    times = {"started_at": "2026-01-01T00:00:00", "finished_at": "2026-01-01T00:01:30"}
    return document(times | {"summary": summary, "events": events})


def transcript():
    return "\n".join(f"```python\n{code}\n```\n{output}\n" for code, output in BLOCKS).encode()


PYTHON_LAYOUTS = {
    "fenced chat": ("a chat data set", lines([{"messages": chat(fenced)}])),
    "fences in a list": ("a chat data set", lines([{"messages": chat(listed_fence)}])),
    "tags": ("a chat data set", lines([{"messages": chat(tagged)}])),
    "XML calls": ("a chat data set", lines([{"messages": chat(xml_call)}])),
    "JSON calls": ("a chat data set", lines([{"messages": chat(json_call)}])),
    "OpenAI calls": ("a chat data set", lines([{"messages": chat(openai_call)}])),
    "Anthropic calls": ("a chat data set", lines([{"messages": chat(anthropic_call)}])),
    "Anthropic server calls": ("a chat data set", lines([{"messages": chat(anthropic_server_call)}])),
    "ShareGPT": ("a chat data set", share_gpt()),
    "ShareGPT calls": ("a chat data set", share_gpt_calls()),
    "bare messages": ("a list of messages", document(chat(openai_call))),
    "Responses": ("items of the Responses API", responses()),
    "Responses chain": ("items of the Responses API", responses_chain()),
    "Gemini": ("contents of the Gemini API", gemini()),
    "Gemini in Python": ("contents of the Gemini API", gemini_in_python()),
    "OpenHands events": ("events of OpenHands", document(openhands_events())),
    "OpenHands output": ("events of OpenHands", lines([{"instance_id": "a", "history": openhands_events()}])),
    "smolagents": ("smolagents' memory", smolagents()),
    "RLM": ("an RLM log", rlm()),
    "open-interpreter": ("messages of open-interpreter", open_interpreter()),
    "ChatGPT export": ("a ChatGPT export", chatgpt_export()),
    "Inspect JSON": ("an Inspect log", inspect_json()),
    "Inspect eval": ("an Inspect log", inspect_eval()),
    "ATIF 1.5": ("an ATIF trajectory", atif("ATIF-v1.5")),
    "ATIF 1.6": ("an ATIF trajectory", atif("ATIF-v1.6")),
    "ATIF 1.7": ("an ATIF trajectory", atif("ATIF-v1.7")),
    "ATIF 1.8": ("an ATIF trajectory", atif("ATIF-v1.8")),
    "OpenInference": ("OpenInference spans", openinference()),
    "OpenInference table": ("OpenInference spans", phoenix_rows()),
    "OpenInference tools": ("OpenInference spans", openinference_tools()),
    "OpenInference printed": ("OpenInference spans", printed_spans()),
    "OpenInference cut": ("OpenInference spans", openinference_cut()),
    "OpenTelemetry": ("OpenTelemetry spans", opentelemetry()),
    "OpenLLMetry": ("OpenTelemetry spans", openllmetry()),
    "OpenTelemetry tools": ("OpenTelemetry spans", opentelemetry_tools()),
    "OpenTelemetry events": ("OpenTelemetry spans", opentelemetry_events()),
    "OpenTelemetry objects": ("OpenTelemetry spans", opentelemetry_objects()),
    "verifiers lines": ("prompt and completion", verifiers_lines()),
    "verifiers trace": ("a trace of verifiers", verifiers_trace()),
    "verifiers calls as JSON": ("prompt and completion", verifiers_json_calls()),
    "verifiers episode": ("a trace of verifiers", verifiers_episode()),
    "notebook": ("a Jupyter notebook", notebook()),
    "authors": ("the repository of arXiv 2603.01209", authors()),
}
"""Layouts of agents that run Python, with what their reader calls them."""
SHELL_LAYOUTS = {
    "Responses shell": ("items of the Responses API", responses_shell()),
    "SWE-agent": ("a trajectory of SWE-agent", swe_agent()),
    "mini-swe-agent": ("a trajectory of mini-swe-agent", mini_swe_agent()),
    "OpenHands typed events": ("events of OpenHands", openhands_typed_events()),
    "Claude Code": ("a session of Claude Code", claude_code()),
}
WITHOUT_OUTCOMES = {
    "prompt and completion": ("prompt and completion", prompt_completion()),
    "transcript": ("a transcript", transcript()),
}
"""Layouts that do not keep what came back apart."""
