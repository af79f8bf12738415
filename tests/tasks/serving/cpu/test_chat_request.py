"""Bodies of chat completions by themselves, and the document about them."""

import json
from typing import Any

import pytest

from carryover.tasks.serving.cpu.chat_request import ApiError, ChatRequest, describe_api, parse_request

ASKED = {"role": "user", "content": "Add."}
TOOL = {"type": "function", "function": {"name": "add"}}


def parsed(**fields: Any) -> ChatRequest:
    return parse_request(json.dumps({"model": "m", "messages": [ASKED], **fields}).encode())


def refused(body: bytes) -> dict[str, Any]:
    with pytest.raises(ApiError) as refusal:
        parse_request(body)
    assert refusal.value.status == 400
    assert str(refusal.value) == refusal.value.body["error"]["message"]
    return refusal.value.body["error"]


def test_messages_are_handed_on_as_templates_take_them():
    call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": [1]}'}}
    messages = [
        {"role": "developer", "content": [{"type": "text", "text": "Be "}, {"type": "text", "text": "brief."}]},
        {"role": "assistant", "content": None, "tool_calls": [call], "annotations": []},
        {"role": "tool", "tool_call_id": "c1", "content": "2", "name": "add"},
    ]
    assert [message.template_form() for message in parsed(messages=messages).messages] == [
        {"role": "system", "content": "Be brief."},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"type": "function", "function": {"name": "add", "arguments": {"a": [1]}}}],
        },
        {"role": "tool", "content": "2", "tool_call_id": "c1"},
    ]


@pytest.mark.parametrize(
    ("fields", "limit"),
    [
        ({}, None),
        ({"max_tokens": 3}, 3),
        ({"max_completion_tokens": 5}, 5),
        ({"max_tokens": 3, "max_completion_tokens": 5}, 5),
    ],
)
def test_the_newer_limit_wins(fields, limit):
    assert parsed(**fields).token_limit == limit


@pytest.mark.parametrize(
    ("stop", "stops"), [(None, ()), ("", ()), ("x", ("x",)), (["x", "", "y"], ("x", "y")), ([], ())]
)
def test_empty_stops_are_none(stop, stops):
    assert parsed(stop=stop).stops == stops


def test_tools_are_offered_unless_none_is_chosen():
    assert parsed(tools=[TOOL]).offered == [TOOL]
    assert parsed(tools=[TOOL], tool_choice="none").offered == []
    assert parsed().offered == []
    assert parsed(tools=[TOOL], tool_choice="none", stream=True).stream
    assert parsed(stream=True).stream


@pytest.mark.parametrize(
    ("fields", "param", "message"),
    [
        ({"tools": [TOOL], "stream": True}, None, "body: tool calls are not streamed; ask without stream"),
        (
            {"chat_template_kwargs": {"tokenize": False, "messages": [], "effort": 1}},
            None,
            "body: chat_template_kwargs may not set messages, tokenize",
        ),
        ({"n": 2}, "n", "n: Input should be 1"),
        (
            {"messages": [{"role": "user", "content": "x", "mood": 1}], "n": 2},
            "messages.0.mood",
            "messages.0.mood: Extra inputs are not permitted; n: Input should be 1",
        ),
    ],
)
def test_every_problem_of_a_body_is_named(fields, param, message):
    error = refused(json.dumps({"model": "m", "messages": [ASKED], **fields}).encode())
    assert error == {"message": message, "type": "BadRequestError", "param": param, "code": 400}


def test_what_is_no_json_is_refused_as_a_body():
    error = refused(b"{")
    assert error["param"] is None
    assert error["message"].startswith("body: Invalid JSON: ")


def an_object(*fields: str, **described: Any) -> dict[str, Any]:
    return {"type": "object", "required": [*fields, *described], "properties": described}


def answered(*fields: str) -> dict[str, Any]:
    return {"description": "answered", "content": {"application/json": {"schema": an_object(*fields)}}}


def test_the_document_describes_every_route():
    document = describe_api("0.1", ["base", "adapter"])
    schemas = document.pop("components")["schemas"]
    reference = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    refusal = {"description": "refused, in OpenAI's shape", "content": reference}
    name = {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}
    reply = answered("id", "object", "created", "model", "choices", "usage")
    reply["content"]["text/event-stream"] = {}
    body = {"required": True, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Request"}}}}
    health = {"200": {"description": "alive"}, "503": {"description": "the engine has ended"}}
    replies = {"200": reply, "400": refusal, "404": refusal, "413": refusal}
    found = {"responses": {"200": answered("id"), "404": refusal}, "parameters": [name]}
    assert document == {
        "openapi": "3.1.0",
        "info": {"title": "Carryover's model server", "version": "0.1"},
        "paths": {
            "/health": {"get": {"responses": health}},
            "/version": {"get": {"responses": {"200": answered("version")}}},
            "/v1/models": {"get": {"responses": {"200": answered("object", "data")}}},
            "/v1/models/{name}": {"get": found},
            "/v1/chat/completions": {"post": {"responses": replies, "requestBody": body}},
        },
    }
    assert schemas["Error"] == an_object(error=an_object("message", "type", "code"))
    assert schemas["Request"]["properties"]["model"]["enum"] == ["base", "adapter"]
    assert "$defs" not in schemas["Request"]
    named = {"CalledFunction", "ChatMessage", "OfferedTool", "ResponseFormat", "SentCall", "StreamOptions", "TextPart"}
    assert set(schemas) == named | {"Error", "Request"}
    assert schemas["Request"]["properties"]["messages"]["items"] == {"$ref": "#/components/schemas/ChatMessage"}
