"""The made-up episode as services, assistants and agents' frameworks write it."""

import io
import json
import zipfile
from typing import Any

from tests.tasks.readers.made_up_messages import ANSWER, BLOCKS, COMMANDS, QUESTION, document, lines


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


def mini_swe_agent_responses():
    """The same with a model of the Responses API: what it returned, and items."""
    messages: list[Any] = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": QUESTION}]}]
    for number, (command, output) in enumerate(COMMANDS):
        spoken = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Next."}]}
        call = {"type": "function_call", "call_id": f"c{number}", "name": "bash"}
        asked = {**call, "arguments": json.dumps({"command": command})}
        told = f"<returncode>{int(output.startswith('exit'))}</returncode>\n<output>\n{output}\n</output>"
        actions = [{"command": command, "tool_call_id": f"c{number}"}]
        messages.append({"object": "response", "output": [spoken, asked], "extra": {"actions": actions}})
        messages.append({"type": "function_call_output", "call_id": f"c{number}", "output": told, "extra": {}})
    messages.append({"role": "exit", "content": "", "extra": {"exit_status": "Submitted"}})
    info = {"exit_status": "Submitted", "mini_version": "2.4.6"}
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
