"""The made-up episode as spans of OpenInference and OpenTelemetry."""

import json
from typing import Any

from tests.tasks.readers.made_up_messages import ANSWER, BLOCKS, QUESTION, document, lines


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
