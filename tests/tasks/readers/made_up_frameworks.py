"""The made-up episode as frameworks of agents dump their messages."""

import json
from typing import Any

from tests.tasks.readers.made_up_messages import ANSWER, BLOCKS, QUESTION, document, lines


def langchain_fields():
    """The messages of LangChain, each with its type and its fields."""
    messages: list[Any] = [("human", {"content": QUESTION})]
    for number, (code, output) in enumerate(BLOCKS):
        call = {"name": "python_repl", "args": {"code": code}, "id": f"call-{number}", "type": "tool_call"}
        status = "error" if "Error" in output else "success"
        answer = {"content": output, "tool_call_id": f"call-{number}", "status": status}
        messages += [("ai", {"content": "", "tool_calls": [call]}), ("tool", answer)]
    return [*messages, ("ai", {"content": ANSWER, "tool_calls": []})]


def langchain_dicts():
    """Messages as `messages_to_dict` returns them."""
    return [{"type": kind, "data": {"type": kind, **fields}} for kind, fields in langchain_fields()]


def langchain_of_anthropic():
    """Messages whose calls stand in the service's parts too."""
    messages = langchain_dicts()
    for message in messages:
        parts = [{"type": "text", "text": message["data"]["content"]}]
        for call in message["data"].get("tool_calls", ()):
            parts.append({"type": "tool_use", "id": call["id"], "name": call["name"], "input": call["args"]})
        if message["type"] == "ai":
            message["data"]["content"] = parts
    return messages


def langchain_serialised():
    """Messages as `dumpd` returns them."""
    names = {"human": "HumanMessage", "ai": "AIMessage", "tool": "ToolMessage"}
    return [
        {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", names[kind]],
         "kwargs": {"type": kind, **fields}}
        for kind, fields in langchain_fields()
    ]  # fmt: skip


def langchain_of_openai():
    """Messages of releases that kept the service's own calls alone."""
    messages: list[Any] = []
    for message in langchain_dicts():
        calls = message["data"].pop("tool_calls", [])
        kept = [{"id": call["id"], "function": {"name": call["name"], "arguments": call["args"]}} for call in calls]
        message["data"]["additional_kwargs"] = {"tool_calls": kept}
        messages.append(message)
    return messages


def langchain_models():
    """Messages as `model_dump` returns them."""
    return [{"type": kind, "additional_kwargs": {}, **fields} for kind, fields in langchain_fields()]


def pydantic_ai():
    prompts = [
        {"part_kind": "system-prompt", "content": "Work."},
        {"part_kind": "user-prompt", "content": QUESTION, "timestamp": "2026-01-01T00:00:00Z"},
    ]
    messages: list[Any] = [{"kind": "request", "parts": prompts, "instructions": None}]
    usage = {"input_tokens": 10, "output_tokens": 2}
    for number, (code, output) in enumerate(BLOCKS):
        named = {"tool_name": "run_python", "tool_call_id": f"call-{number}"}
        said = {"part_kind": "text", "content": "Next."}
        call = {"part_kind": "tool-call", "args": {"code": code}, **named}
        kind = "retry-prompt" if "Error" in output else "tool-return"
        answer = {"part_kind": kind, "content": output, **named}
        messages.append({"kind": "response", "parts": [said, call], "usage": usage, "model_name": "m"})
        messages.append({"kind": "request", "parts": [answer]})
    answer = {"kind": "response", "parts": [{"part_kind": "text", "content": ANSWER}], "usage": usage}
    return document([*messages, answer])


def autogen():
    """A chat as the agent keeps it that began it and runs the code: its own roles are turned round."""
    messages: list[Any] = [{"role": "assistant", "name": "user_proxy", "content": QUESTION}]
    for code, output in BLOCKS:
        told = "1 (execution failed)" if "Error" in output else "0 (execution succeeded)"
        messages += [
            {"role": "user", "name": "assistant", "content": f"Next:\n```python\n{code}\n```"},
            {"role": "assistant", "name": "user_proxy", "content": f"exitcode: {told}\nCode output: {output}"},
        ]
    return [*messages, {"role": "user", "name": "assistant", "content": ANSWER}]


def autogen_message(source, kind, usage=None, **fields):
    return {"id": "m", "source": source, "models_usage": usage, "metadata": {}, "type": kind, **fields}


def autogen_team():
    """A model's agent and one that runs its fences, as of AutoGen 0.4."""
    messages = [autogen_message("user", "TextMessage", content=QUESTION)]
    usage = {"prompt_tokens": 10, "completion_tokens": 2}
    for code, output in BLOCKS:
        messages.append(autogen_message("coder", "TextMessage", usage, content=f"Next:\n```python\n{code}\n```"))
        messages.append(autogen_message("runner", "TextMessage", content=output))
    return [*messages, autogen_message("coder", "TextMessage", usage, content=ANSWER)]


def autogen_tools():
    """An agent that calls AutoGen's tool for code."""
    messages = [autogen_message("user", "TextMessage", content=QUESTION)]
    usage = {"prompt_tokens": 10, "completion_tokens": 2}
    for number, (code, output) in enumerate(BLOCKS):
        call = {"id": str(number), "name": "CodeExecutor", "arguments": json.dumps({"code": code})}
        result = {"call_id": str(number), "name": "CodeExecutor", "content": output, "is_error": False}
        messages.append(autogen_message("a", "ThoughtEvent", content="```python\nprint('a thought')\n```"))
        messages.append(autogen_message("a", "ToolCallRequestEvent", usage, content=[call]))
        messages.append(autogen_message("a", "ToolCallExecutionEvent", content=[result]))
    return [*messages, autogen_message("a", "TextMessage", usage, content=ANSWER)]


def autogen_events():
    """An agent that runs its code itself, not what it says of results."""
    messages = [autogen_message("user", "TextMessage", content=QUESTION)]
    for code, output in BLOCKS:
        blocks = [{"code": code, "language": "python", "packages": []}]
        told = {"exit_code": int("Error" in output), "output": output}
        messages.append(autogen_message("both", "CodeGenerationEvent", content=code, code_blocks=blocks))
        messages.append(autogen_message("both", "CodeExecutionEvent", result=told))
        messages.append(autogen_message("both", "TextMessage", {}, content="It was:\n```python\nprint(widths)\n```"))
    return [*messages, autogen_message("both", "TextMessage", {}, content=ANSWER)]


FRAMEWORKS = {
    "LangChain": ("messages of LangChain", document(langchain_dicts())),
    "LangChain lines": ("messages of LangChain", lines([{"messages": langchain_dicts()}])),
    "LangChain serialised": ("messages of LangChain", lines([{"messages": langchain_serialised()}])),
    "LangChain of OpenAI": ("messages of LangChain", document(langchain_of_openai())),
    "LangChain of Anthropic": ("messages of LangChain", document(langchain_of_anthropic())),
    "LangChain models": ("messages of LangChain", document(langchain_models())),
    "Pydantic AI": ("messages of Pydantic AI", pydantic_ai()),
    "AutoGen": ("a chat data set", lines([{"chat_history": autogen(), "summary": ANSWER, "cost": {}}])),
    "AutoGen messages": ("a list of messages", document(autogen())),
    "AutoGen team": ("messages of AutoGen", lines([{"messages": autogen_team(), "stop_reason": "done"}])),
    "AutoGen tools": ("messages of AutoGen", document(autogen_tools())),
    "AutoGen events": ("messages of AutoGen", document(autogen_events())),
}
"""By name: what the reader calls the layout, and a file."""
