"""Validation of an endpoint's answer as a chat completion."""

import json
from typing import Annotated

from pydantic import BaseModel, Field, NonNegativeInt, PlainValidator, ValidationError

from carryover.tasks.agent.protocol import Completion, FunctionCall
from carryover.tasks.services.text import encodable


class BadAnswerError(ValueError):
    """An answer with status 200 that is no usable chat completion."""


def _check_text(value: object) -> str | None:
    # JSON may hold lone surrogates, which Pydantic's own strings refuse.
    if value is None:
        return None
    if isinstance(value, str):
        return encodable(value)
    raise ValueError("Input should be a valid string")


class _Function(BaseModel):
    name: Annotated[str, PlainValidator(_check_text)]
    arguments: Annotated[str, PlainValidator(_check_text)]


class _ToolCall(BaseModel):
    id: str
    function: _Function


class _Message(BaseModel):
    content: Annotated[str | None, PlainValidator(_check_text)] = None
    tool_calls: list[_ToolCall] | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _PromptDetails(BaseModel):
    cached_tokens: NonNegativeInt | None = None


class _Usage(BaseModel):
    prompt_tokens: NonNegativeInt
    completion_tokens: NonNegativeInt
    prompt_tokens_details: _PromptDetails | None = None


class _ChatCompletion(BaseModel):
    choices: Annotated[list[_Choice], Field(min_length=1)]
    usage: _Usage


def read_answer(body: bytes) -> Completion:
    """Return a chat completion's content, without its time.

    Text without a finish reason counts as finished. Raise `BadAnswerError` for invalid JSON, and without a choice with
    a message, usage, or both text and reason.
    """
    parsed = _parse(body)
    choice = parsed.choices[0]
    usage = parsed.usage
    text = choice.message.content or ""
    calls = choice.message.tool_calls or []
    if choice.finish_reason is None and not text and not calls:
        raise BadAnswerError("without finish_reason and without text")
    return Completion(
        text=text,
        finish_reason=choice.finish_reason or "stop",
        prompt_tokens=usage.prompt_tokens,
        cached_prompt_tokens=_cached_tokens(usage),
        completion_tokens=usage.completion_tokens,
        model_seconds=0.0,
        tool_calls=tuple(FunctionCall(call.id, call.function.name, call.function.arguments) for call in calls),
    )


def _parse(body: bytes) -> _ChatCompletion:
    try:
        return _ChatCompletion.model_validate(json.loads(body))
    except ValidationError as error:
        raise BadAnswerError(_complaint(error)) from None
    except ValueError:
        raise BadAnswerError(f"with invalid JSON: {body[:200].decode(errors='replace')!r}") from None


def _complaint(error: ValidationError) -> str:
    """Return the first thing that is wrong with an answer."""
    first = error.errors()[0]
    place = ".".join(map(str, first["loc"]))
    value = json.dumps(first["input"])[:200]
    has_no_usage = place == "usage" and first["input"] is None
    if has_no_usage or first["type"] == "missing":
        return f"without {place}"
    if place:
        return f"with a bad {place} {value}: {first['msg']}"
    return f"with no chat completion: {value}"


def _cached_tokens(usage: _Usage) -> int:
    details = usage.prompt_tokens_details
    if details is None:
        return 0
    return details.cached_tokens or 0
