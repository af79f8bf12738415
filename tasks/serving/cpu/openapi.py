"""The OpenAPI document of the CPU server; the body of a chat is the model that checks it."""

from typing import Any

from carryover.tasks.serving.cpu.chat_request import ChatRequest

_SCHEMAS = "#/components/schemas/"


def describe_api(version: str, models: list[str]) -> dict[str, Any]:
    """Return the document of a server of these models, with every status that a route answers with."""
    request = ChatRequest.model_json_schema(ref_template=f"{_SCHEMAS}{{model}}")
    request["properties"]["model"]["enum"] = models
    schemas = {**request.pop("$defs"), "Request": request, "Error": _object(error=_object("message", "type", "code"))}
    name = {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}
    reply = _answer("id", "object", "created", "model", "choices", "usage")
    reply["content"]["text/event-stream"] = {}
    body = {"required": True, "content": _json({"$ref": f"{_SCHEMAS}Request"})}
    paths = {
        "/health": {"get": _route({"200": {"description": "alive"}, "503": {"description": "the engine has ended"}})},
        "/version": {"get": _route({"200": _answer("version")})},
        "/v1/models": {"get": _route({"200": _answer("object", "data")})},
        "/v1/models/{name}": {"get": {**_route({"200": _answer("id")}, 404), "parameters": [name]}},
        "/v1/chat/completions": {"post": {**_route({"200": reply}, 400, 404, 413), "requestBody": body}},
    }
    information = {"title": "Carryover's CPU server", "version": version}
    return {"openapi": "3.1.0", "info": information, "paths": paths, "components": {"schemas": schemas}}


def _route(answers: dict[str, Any], *refusals: int) -> dict[str, Any]:
    refused = {"description": "refused, in OpenAI's shape", "content": _json({"$ref": f"{_SCHEMAS}Error"})}
    return {"responses": {**answers, **{str(status): refused for status in refusals}}}


def _answer(*fields: str) -> dict[str, Any]:
    return {"description": "answered", "content": _json(_object(*fields))}


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _object(*fields: str, **described: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "required": [*fields, *described], "properties": described}
