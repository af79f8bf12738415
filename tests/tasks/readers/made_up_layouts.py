"""One made-up episode in every layout: three blocks, of which the last fails in a fresh process."""

import json
from typing import Any

from tests.tasks.readers.made_up_agents import (
    atif,
    chatgpt_export,
    claude_code,
    gemini,
    gemini_in_python,
    inspect_eval,
    inspect_json,
    mini_swe_agent,
    mini_swe_agent_responses,
    open_interpreter,
    openhands_events,
    openhands_typed_events,
    responses,
    responses_chain,
    responses_shell,
    rlm,
    smolagents,
    swe_agent,
)
from tests.tasks.readers.made_up_calls import STYLES
from tests.tasks.readers.made_up_frameworks import FRAMEWORKS
from tests.tasks.readers.made_up_messages import (
    BLOCKS,
    QUESTION,
    TRACEBACK,
    anthropic_call,
    anthropic_server_call,
    chat,
    document,
    fenced,
    json_call,
    lines,
    listed_fence,
    openai_call,
    share_gpt,
    share_gpt_calls,
    tagged,
    xml_call,
)
from tests.tasks.readers.made_up_spans import (
    openinference,
    openinference_cut,
    openinference_tools,
    openllmetry,
    opentelemetry,
    opentelemetry_events,
    opentelemetry_objects,
    opentelemetry_tools,
    phoenix_rows,
    printed_spans,
)


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
    **FRAMEWORKS,
} | {name: ("a chat data set", lines([{"messages": chat(style)}])) for name, style in STYLES.items()}
"""Layouts of agents that run Python, with what their reader calls them."""
SHELL_LAYOUTS = {
    "Responses shell": ("items of the Responses API", responses_shell()),
    "SWE-agent": ("a trajectory of SWE-agent", swe_agent()),
    "mini-swe-agent": ("a trajectory of mini-swe-agent", mini_swe_agent()),
    "mini-swe-agent responses": ("a trajectory of mini-swe-agent", mini_swe_agent_responses()),
    "OpenHands typed events": ("events of OpenHands", openhands_typed_events()),
    "Claude Code": ("a session of Claude Code", claude_code()),
}
WITHOUT_OUTCOMES = {
    "prompt and completion": ("prompt and completion", prompt_completion()),
    "transcript": ("a transcript", transcript()),
}
"""Layouts that do not keep what came back apart."""
